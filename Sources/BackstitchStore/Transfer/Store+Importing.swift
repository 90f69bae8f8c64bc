import BackstitchCore

extension Store {
    /// The most bytes of a line that is imported.
    public static var importLineBytesMax: Int { 64 << 20 }

    /// Saves the records of JSON Lines that ``export(entities:after:progress:to:)`` writes.
    ///
    /// Each line is a local save of a whole record: it is inserted, or its declared attributes are
    /// changed to the line's; a record that is the same already makes no operation. So an
    /// interrupted import can be run again. Records that the lines don't name are not changed. Some
    /// thousand lines are one transaction. Memory does not grow with the input.
    ///
    /// - Parameters:
    ///   - isStrict: Whether the first bad line ends the import, without what its transaction saved.
    ///   - addsAttributes: Whether unknown attributes are added to the store; else their lines are bad.
    ///   - next: Gives the next bytes, in parts of any size; nil at the end.
    ///   - problem: Called with each line that is not imported, in the order of the lines.
    ///   - progress: Called after each transaction.
    /// - Returns: what was done; bad lines are counted in it and are no error.
    /// - Throws: `closed`, `full` or another failure of a write, with earlier transactions kept; what
    ///   `next` throws.
    @discardableResult
    public func importRecords(
        isStrict: Bool = false, addsAttributes: Bool = false, from next: () throws -> [UInt8]?,
        problem tell: (ImportReport.Problem) -> Void = { _ in },
        progress: (ImportReport) -> Void = { _ in }
    ) async throws -> ImportReport {
        var run = ImportRun(store: self, isStrict: isStrict, addsAttributes: addsAttributes)
        return try await run.take(all: next, tell, progress)
    }
}
