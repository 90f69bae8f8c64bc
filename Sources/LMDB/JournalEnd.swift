/// Where the records end, if no word tells it.
struct JournalEnd {
    /// The last record that was the end of a whole file when it was searched.
    private var number: UInt64?

    /// Whether no record comes after a number; otherwise those between were lost.
    mutating func isReached(
        by number: UInt64, in file: JournalFile
    ) throws(LMDBError) -> Bool {
        if self.number == number { return true }
        guard try !file.hasRecord(from: number + 1) else { return false }
        self.number = number
        return true
    }
}
