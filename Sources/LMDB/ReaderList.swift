import CLMDB

/// The readers of all processes, from what `mdb_reader_list` prints: a headline, then process, thread
/// and transaction of every taken slot; an idle slot has a dash for the transaction.
final class ReaderList {
    private(set) var count = 0
    private(set) var oldest: UInt64?
    /// Whether readers have slots in a lock file.
    private(set) var isThere = true

    init(of environment: OpaquePointer) {
        mdb_reader_list(
            environment,
            { line, context in
                guard let line, let context else { return 0 }
                let list = Unmanaged<ReaderList>.fromOpaque(context).takeUnretainedValue()
                list.add(String(cString: line))
                return 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func add(_ text: String) {
        if text.hasPrefix("(no reader locks)") { isThere = false }
        for line in text.split(separator: "\n") {
            let columns = line.split(separator: " ")
            guard columns.count == 3, Int(columns[0]) != nil else { continue }
            count += 1
            guard let transaction = UInt64(columns[2]) else { continue }
            oldest = min(oldest ?? transaction, transaction)
        }
    }
}
