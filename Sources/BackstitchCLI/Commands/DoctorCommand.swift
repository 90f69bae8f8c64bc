import Backstitch
import BackstitchLog
import BackstitchRepair
import BackstitchStore
import BackstitchHub
import LMDB
import Terminal

/// Says what is wrong with a store, and puts it in order.
struct DoctorCommand: Command {
    private static let repair = Syntax.Option(
        "repair", nil, "Puts the store in order, and keeps the damaged files beside it.")

    let name = "doctor"
    let summary = "Says what is wrong with a store's files, and repairs them."
    let syntax = Syntax(
        operands: [.store], options: [repair, .json],
        notes: """
            Every page of the file is read and checked, then log and tables are compared. Without
            --repair nothing is changed, and what a repair would do is told.

            A repair makes a new data file from what is intact, verifies it, and puts it in the place
            of the damaged one, which is kept at STORE.damaged-TIME with a report and with the
            operations that could not be used. No program may have the store open meanwhile. Unsynced
            edits that survive stay unsynced; where the log was damaged, the next sync fetches
            everything from the service.

            The files that records hold are compared with their hashes. A repair moves those that differ
            to STORE/blobs/corrupt, and an engine downloads them again when they are opened.

            The folder of a hub is checked too: all pages, rows and files. It can't be repaired. A folder
            that holds a store and a hub is checked for both.

            Exit codes: 0 nothing is wrong, or it is repaired; 1 something is wrong; 2 the store could
            not be checked or repaired.

            JSON: one object.
              store       the path as given
              healthy     whether nothing was wrong
              remedy      none, rebuild, salvage or backup
              findings    what was wrong: part (file, log, tables, meta, journal, contents, hub) and
                          message
              operations, rows  how many were checked
              uniqueViolations  the records that share a value of a unique attribute, a sentence for each value
              repair      what a repair keeps and what it can't: operationsKept, operationsSetAside,
                          missingSequences, missingCount, recordsWhole, recordsCurrent, recordsOlder,
                          recordsLost, editsLost (count and names), mayLackCommits, metaDropped,
                          fetchesAll
              contents    the files that records hold: checked, corrupt and missing, by hash, and
                          orphans, which nothing names and collection removes; none if the store is
                          damaged
              hub         of a hub in the same folder: healthy, rows, records, files; none if there is
                          no hub, or if the store is damaged
              repaired    whether it was done
              keptAt      where the damaged files are
              stoppedWriter  the process that is stopped in a write, if there is one: others wait for it
            """)

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let path = arguments.operands[0]
        if Hub.isHub(at: path), !EnvironmentFiles(at: path).holdsStore {
            guard !arguments.has(Self.repair) else {
                throw UsageError(
                    "'\(path.printable)' holds a hub, which can't be repaired. Restore a backup.")
            }
            return try HubDoctor.run(path, arguments, console)
        }
        let progress = console.progress("Examining")
        defer { progress.finish() }
        let repair = StoreRepair(path) { progress.update(done: $0, total: $1) }
        let report: RepairReport
        if arguments.has(Self.repair) {
            report = try repair.repair(milliseconds: LiveValues.milliseconds())
        } else {
            let diagnosis = try repair.diagnosis()
            report = RepairReport(diagnosis: diagnosis, salvage: diagnosis.salvage, keptAt: nil)
        }
        let contents = try await Self.contents(report, path, arguments)
        // A hub beside a damaged store can't be read, and a repair leaves it behind.
        let holdsHub = Hub.isHub(at: path)
        let hub =
            try holdsHub && Self.isInOrder(report)
            ? HubDiagnosis(at: path, besides: EnvironmentOptions(of: .init())) : nil
        progress.finish()
        if arguments.has(.json) {
            console.output.line(try JSON.line(DoctorDocument(report, contents, hub, path: path)))
        } else {
            var lines = DoctorLines.lines(report, path: path)
            lines += DoctorLines.lines(contents, isRepaired: arguments.has(Self.repair))
            if holdsHub { lines += DoctorLines.lines(hub) }
            for line in lines { console.output.line(line) }
        }
        let isWhole = report.diagnosis.isHealthy || report.keptAt != nil
        let isComplete =
            contents.map { arguments.has(Self.repair) ? $0.missing.isEmpty : $0.isConsistent }
            ?? true
        return isWhole && isComplete && hub?.isHealthy != false ? .success : .negative
    }

    /// Whether the store can be opened as it is now.
    private static func isInOrder(_ report: RepairReport) -> Bool {
        report.diagnosis.remedy == .none || report.keptAt != nil
    }

    /// What is found of the files that records hold; nil if the store has to be repaired or opened first.
    private static func contents(
        _ report: RepairReport, _ path: String, _ arguments: Arguments
    ) async throws -> StoreAssets.Verification? {
        guard isInOrder(report) else { return nil }
        let repairs = arguments.has(Self.repair)
        let store = try Store.open(
            existing: path, access: repairs ? .readWrite : .readOnly, checksPages: true)
        defer { store.close() }
        return repairs ? try await store.assets.verify() : try await store.assets.examine()
    }
}
