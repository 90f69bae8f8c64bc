import BackstitchLog

/// The reads that transactions offer.
///
/// ``ReadTransaction`` and ``WriteTransaction`` conform to it. A function that reads takes
/// `borrowing some RecordReading & ~Copyable`, and then works in both.
public protocol RecordReading: ~Copyable {
    /// The snapshot that is read; for this library's own use.
    var _source: _ReadSource { get }
}

/// The snapshot that a transaction reads; for this library's own use.
public struct _ReadSource {
    @usableFromInline package let reader: TableReader
    @usableFromInline let types: TypeTable
}

extension RecordReading where Self: ~Copyable {
    @inlinable package var reader: TableReader { _source.reader }
    @inlinable var types: TypeTable { _source.types }
}
