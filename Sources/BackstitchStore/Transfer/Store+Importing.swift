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
    ///   - options: How to treat bad lines and unknown attributes.
    ///   - next: Gives the next bytes, in parts of any size; nil at the end.
    ///   - problem: Called with each line that is not imported, in the order of the lines.
    ///   - progress: Called after each transaction.
    /// - Returns: what was done; bad lines are counted in it and are no error.
    /// - Throws: `closed`, `full` or another failure of a write, with earlier transactions kept; what
    ///   `next` throws.
    @discardableResult
    public func importRecords(
        options: ImportReport.Options = .init(), from next: () throws -> [UInt8]?,
        problem tell: (ImportReport.Problem) -> Void = { _ in },
        progress: (ImportReport) -> Void = { _ in }
    ) async throws -> ImportReport {
        var report = ImportReport()
        var splitter = LineSplitter(bytesMax: Self.importLineBytesMax)
        var batch = ImportBatch()
        var isAtEnd = false
        while !isAtEnd, !report.isStopped {
            var lines: [LineSplitter.Line] = []
            if let chunk = try next() {
                report.bytes += chunk.count
                splitter.take(chunk) { lines.append($0) }
            } else {
                isAtEnd = true
                if let last = splitter.finish() { lines.append(last) }
            }
            for line in lines {
                report.lines += 1
                batch.add(line, number: report.lines)
                guard batch.isFull || (options.isStrict && !batch.problems.isEmpty) else {
                    continue
                }
                try await keep(&batch, options, &report, tell)
                if report.isStopped { break }
                progress(report)
            }
        }
        if !report.isStopped { try await keep(&batch, options, &report, tell) }
        progress(report)
        return report
    }

    /// Writes a batch and empties it.
    private func keep(
        _ batch: inout ImportBatch, _ options: ImportReport.Options, _ report: inout ImportReport,
        _ tell: (ImportReport.Problem) -> Void
    ) async throws {
        let lines = batch
        batch = ImportBatch()
        if options.isStrict, let problem = lines.problems.first {
            return stop(at: problem, &report, tell)
        }
        do {
            let outcome = try await write { try lines.save($0, options) }
            report.inserted += outcome.report.inserted
            report.updated += outcome.report.updated
            report.unchanged += outcome.report.unchanged
            for problem in (lines.problems + outcome.problems).sorted(by: { $0.line < $1.line }) {
                report.failed += 1
                tell(problem)
            }
        } catch let stopped as ImportStopped {
            stop(at: stopped.problem, &report, tell)
        }
    }

    private func stop(
        at problem: ImportReport.Problem, _ report: inout ImportReport,
        _ tell: (ImportReport.Problem) -> Void
    ) {
        report.failed += 1
        report.isStopped = true
        tell(problem)
    }
}
