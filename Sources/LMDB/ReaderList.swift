/// Collects what `mdb_reader_list` prints: a headline, then process, thread and transaction of
/// every taken slot; an idle slot has a dash for the transaction.
final class ReaderList {
    private(set) var count = 0
    private(set) var oldest: UInt64?

    func add(_ text: String) {
        for line in text.split(separator: "\n") {
            let columns = line.split(separator: " ")
            guard columns.count == 3, Int(columns[0]) != nil else { continue }
            count += 1
            guard let transaction = UInt64(columns[2]) else { continue }
            oldest = min(oldest ?? transaction, transaction)
        }
    }
}
