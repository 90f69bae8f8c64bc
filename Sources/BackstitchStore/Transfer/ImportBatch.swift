import BackstitchCore
import BackstitchLog

/// Lines that are imported in one transaction.
struct ImportBatch: Sendable {
    /// The most lines of a transaction.
    static let linesMax = 2_000
    /// The bytes of lines after which a transaction is ended.
    static let bytesMax = 4 << 20

    private(set) var records: [(line: Int, record: RecordLine)] = []
    private(set) var problems: [ImportReport.Problem] = []
    private(set) var bytes = 0

    var isFull: Bool { records.count >= Self.linesMax || bytes >= Self.bytesMax }

    mutating func add(_ line: LineSplitter.Line, number: Int) {
        guard case .whole(let text) = line else {
            let bytesMax = Store.importLineBytesMax
            problems.append(
                ImportReport.Problem(
                    line: number, reason: "The line has more than \(bytesMax) bytes."))
            return
        }
        if text.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return }
        bytes += text.count
        do throws(RecordLine.Failure) {
            records.append((number, try RecordLine(text)))
        } catch {
            problems.append(ImportReport.Problem(line: number, reason: error.reason))
        }
    }

    /// What saving the records did, by itself: a transaction may run more than once.
    struct Outcome: Sendable {
        var report = ImportReport()
        var problems: [ImportReport.Problem] = []
    }

    /// Saves the records; those that can't be saved are problems.
    func save(
        _ transaction: borrowing WriteTransaction, isStrict: Bool, addsAttributes: Bool
    ) throws -> Outcome {
        var outcome = Outcome()
        for (line, record) in records {
            do {
                for asset in record.values.values.flatMap(\.assets) {
                    try transaction.context.log.checkAsset?(asset)
                }
                outcome.report.note(
                    try transaction.save(
                        record.values, as: record.key, of: record.entity,
                        addsAttributes: addsAttributes))
            } catch let error as StoreError where error.isAboutRecord {
                let problem = ImportReport.Problem(line: line, reason: error.message)
                if isStrict { throw ImportStopped(problem: problem) }
                outcome.problems.append(problem)
            }
        }
        return outcome
    }
}

/// Says that a strict import met a bad line.
struct ImportStopped: Error {
    let problem: ImportReport.Problem
}

extension StoreError {
    /// Whether the record that was to be saved is wrong, and nothing was changed.
    fileprivate var isAboutRecord: Bool {
        [
            .unknownEntity, .unknownZone, .invalidName, .invalidValue, .crossesZones, .assetMissing,
        ].contains(code)
    }
}
