import BackstitchCore

/// An import of records, some thousand lines in each transaction.
struct ImportRun {
    let store: Store
    let isStrict: Bool
    let addsAttributes: Bool
    private var report = ImportReport()
    private var batch = ImportBatch()

    init(store: Store, isStrict: Bool, addsAttributes: Bool) {
        self.store = store
        self.isStrict = isStrict
        self.addsAttributes = addsAttributes
    }

    /// Imports all that the closure gives.
    ///
    /// - Parameters:
    ///   - tell: Called with each line that is not imported.
    ///   - progress: Called after each transaction.
    mutating func take(
        all next: () throws -> [UInt8]?, _ tell: (ImportReport.Problem) -> Void,
        _ progress: (ImportReport) -> Void
    ) async throws -> ImportReport {
        var splitter = LineSplitter(bytesMax: Store.importLineBytesMax)
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
                guard batch.isFull || (isStrict && !batch.problems.isEmpty) else {
                    continue
                }
                try await keep(tell)
                if report.isStopped { break }
                progress(report)
            }
        }
        if !report.isStopped { try await keep(tell) }
        progress(report)
        return report
    }

    /// Writes the batch and empties it.
    private mutating func keep(_ tell: (ImportReport.Problem) -> Void) async throws {
        let lines = batch
        batch = ImportBatch()
        if isStrict, let problem = lines.problems.first { return stop(at: problem, tell) }
        do {
            let outcome = try await store.write { [isStrict, addsAttributes] in
                try lines.save($0, isStrict: isStrict, addsAttributes: addsAttributes)
            }
            report.inserted += outcome.report.inserted
            report.updated += outcome.report.updated
            report.unchanged += outcome.report.unchanged
            for problem in (lines.problems + outcome.problems).sorted(by: { $0.line < $1.line }) {
                report.failed += 1
                tell(problem)
            }
        } catch let stopped as ImportStopped {
            stop(at: stopped.problem, tell)
        }
    }

    private mutating func stop(
        at problem: ImportReport.Problem, _ tell: (ImportReport.Problem) -> Void
    ) {
        report.failed += 1
        report.isStopped = true
        tell(problem)
    }
}
