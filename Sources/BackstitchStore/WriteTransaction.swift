import BackstitchCore
import BackstitchLog

/// A transaction that reads and writes. Valid only inside the closure of `write`.
///
/// It reads its own writes. All of its writes are kept, or none.
public struct WriteTransaction: RecordReading, ~Copyable {
    package let context: WriteContext
    package var log: LogWriter { context.log }
    package let types: TypeTable

    init(context: WriteContext, types: TypeTable) {
        self.context = context
        self.types = types
    }

    /// The snapshot that is read; for this library's own use.
    public var _source: _ReadSource { _ReadSource(reader: context.log.reader, types: types) }
    package var reader: TableReader { context.log.reader }

    /// The sequence of the last operation so far.
    public var lastSequence: UInt64 { context.log.head }
}
