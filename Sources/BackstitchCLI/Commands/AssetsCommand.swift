import Backstitch
import Foundation
import Terminal

/// Looks at the files that a store's records hold.
struct AssetsCommand: Command {
    private struct Document: Encodable {
        let store: String
        let files: Int
        let bytes: Int64
        var checked: Int?
        var corrupt: [String]?
        var missing: [String]?
        var orphans: Int?
        var collectedFiles: Int?
        var collectedBytes: Int64?
        var evictedFiles: Int?
        var evictedBytes: Int64?
    }

    private static let verify = Syntax.Option(
        "verify", nil, "Compares each file with its hash, and moves away those that differ.")
    private static let keepCorrupt = Syntax.Option(
        "keep-corrupt", nil, "With --verify: moves nothing; the store is only read.")
    private static let evict = Syntax.Option(
        "evict", "BYTES", "Takes files off this device that the service has, down to so many bytes."
    )
    private static let orphans = Syntax.Option(
        "orphans", nil, "Removes the files that nothing names any more and that are an hour old.")

    let name = "assets"
    let summary = "Shows how much the files of a store's records take up, and checks them."
    let syntax = Syntax(
        operands: [.store], options: [verify, keepCorrupt, evict, orphans, .json],
        notes: """
            Files are named as long as a record, an operation in the log or a conflict in the journal
            holds them. Programs may use the store meanwhile.
            Exit codes: 0 nothing is wrong; 1 a file is missing or was another one; 2 not done.

            JSON: one object.
              store          the path as given
              files, bytes   what is on this device at the end
              checked        with --verify: the files that were compared
              corrupt        with --verify: the hashes of those that differed, now in blobs/corrupt
                             unless --keep-corrupt
              missing        with --verify: the hashes of files that records hold and that are neither
                             here nor known to be on the service
              orphans        with --verify: the files that nothing names
              collectedFiles, collectedBytes
                             with --orphans: what was removed
              evictedFiles, evictedBytes
                             with --evict: what was taken off this device
            """)

    func interruptionText(_ arguments: Arguments) -> String? { "What was done stays done." }

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let path = arguments.operands[0]
        let limit = try arguments.text(Self.evict).map { text in
            guard let bytes = Int64(text), bytes >= 0 else {
                throw UsageError(
                    "The option --evict takes a number of bytes, and not '\(text.printable)'.")
            }
            return bytes
        }
        let onlyReads = arguments.has(Self.keepCorrupt)
        let onlyVerifies =
            arguments.has(Self.verify) && !arguments.has(Self.orphans) && limit == nil
        guard onlyVerifies || !onlyReads else {
            throw UsageError("--keep-corrupt goes with --verify alone.")
        }
        let store =
            onlyReads
            ? try open(toShow: path)
            : try Store.open(existing: path, access: .readWrite, checksPages: true)
        defer { store.close() }
        let assets = store.assets
        var report: StoreAssets.Verification?
        if arguments.has(Self.verify) {
            let progress = console.progress("Comparing")
            defer { progress.finish() }
            report = try await assets.verify(movesCorrupt: !onlyReads) {
                progress.update(done: $0, total: $1)
            }
        }
        let collected = arguments.has(Self.orphans) ? try await assets.collect() : nil
        var evicted: StoreAssets.Usage?
        if let limit { evicted = try await assets.evict(downTo: limit) }
        let usage = assets.usage()
        if arguments.has(.json) {
            console.output.line(
                try JSON.line(
                    Document(
                        store: path, files: usage.files, bytes: usage.bytes,
                        checked: report?.checked, corrupt: report?.corrupt,
                        missing: report?.missing, orphans: report?.orphans,
                        collectedFiles: collected?.files, collectedBytes: collected?.bytes,
                        evictedFiles: evicted?.files, evictedBytes: evicted?.bytes)))
        } else {
            if let report {
                Self.lines(report, areMoved: !onlyReads).forEach { console.output.line($0) }
            }
            if let collected { console.output.line("Removed: \(Self.text(collected)).") }
            if let evicted { console.output.line("Evicted: \(Self.text(evicted)).") }
            console.output.line("On this device: \(Self.text(usage)).")
        }
        return report?.isConsistent == false ? .negative : .success
    }

    private static func text(_ usage: StoreAssets.Usage) -> String {
        "\(usage.files.counted("file")), \(Int(usage.bytes).asBytes)"
    }

    private static func lines(_ report: StoreAssets.Verification, areMoved: Bool) -> [String] {
        var lines = ["Compared: \(report.checked.counted("file"))."]
        if report.orphans > 0 {
            lines.append("Named by nothing: \(report.orphans.counted("file")). See --orphans.")
        }
        let moved = areMoved ? ", moved to blobs/corrupt" : ""
        lines += report.corrupt.map { "Differs from its hash\(moved): \($0)" }
        lines += report.missing.map { "Neither here nor on the service: \($0)" }
        return lines
    }
}
