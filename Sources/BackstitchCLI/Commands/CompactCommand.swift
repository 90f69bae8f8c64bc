import Backstitch
import Terminal

/// Shortens a store's log.
struct CompactCommand: Command {
    private struct Document: Encodable {
        let store: String
        let removed: Int
        let operationsBefore: Int
        let operationsAfter: Int
        let bytesBefore: Int
        let bytesAfter: Int
        let compactedThrough: UInt64
        let allocatedBytesBefore: Int
        let allocatedBytesAfter: Int
        let returnedBytes: Int
        let returnsSpace: Bool
    }

    private static let keep = Syntax.Option(
        "keep", "all|unsynced|DAYS",
        "What stays: all, the unsynced (default), or also those of DAYS days.")

    let name = "compact"
    let summary = "Takes old operations out of a store's log; its records stay as they are."
    let syntax = Syntax(
        operands: [.store], options: [keep, .json],
        notes: """
            DAYS keeps the operations of so many days. What waits to be pushed always stays. Local-only
            operations count as synced, and so do all of a store that its program opens with syncs:
            false. Then half-empty pages are packed, and free ones go back to the file system: the file
            keeps its length and takes up less of the disk. Programs may use the store meanwhile. It may be
            interrupted at any time: what was done by then stays done, and the next one goes on.

            JSON: one object.
              store             the path as given
              removed           the number of operations that were taken out
              operationsBefore, operationsAfter
                                the number of operations in the log
              bytesBefore, bytesAfter
                                the bytes that the log takes up; more than before if the baselines, which
                                hold whole records, are larger than the operations that they replace
              compactedThrough  operations up to this sequence may be missing
              allocatedBytesBefore, allocatedBytesAfter
                                the bytes that the file takes up on the disk
              returnedBytes     the bytes that went back to the file system
              returnsSpace      whether the file system can take them back
            """)

    func interruptionText(_ arguments: Arguments) -> String? {
        "What was done stays done; run it again to go on."
    }

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let policy = try Self.policy(arguments.text(Self.keep))
        let path = arguments.operands[0]
        let store = try Store.open(existing: path, access: .readWrite, checksPages: true)
        defer { store.close() }
        let progress = console.progress("Compacting")
        defer { progress.finish() }
        let report = try await store.compact(policy) {
            progress.update(done: $0, total: $1)
        }
        progress.finish()
        if arguments.has(.json) {
            console.output.line(try JSON.line(Self.document(report, path)))
        } else {
            for line in Self.lines(report, try store.info()) { console.output.line(line) }
        }
        return .success
    }

    /// The policy that a text names.
    static func policy(_ text: String?) throws(UsageError) -> RetentionPolicy {
        switch text {
        case nil, "unsynced": return .keepUnsyncedOnly
        case "all": return .keepAll
        case .some(let text):
            guard let days = Int(text), (0...RetentionPolicy.daysMax).contains(days) else {
                throw UsageError(
                    "The option --keep takes 'all', 'unsynced', or a number of days from 0 to "
                        + "\(RetentionPolicy.daysMax), and not '\(text.printable)'.")
            }
            return .keepUnsynced(days: days)
        }
    }

    private static func document(_ report: CompactionReport, _ path: String) -> Document {
        Document(
            store: path, removed: report.removed, operationsBefore: report.operationsBefore,
            operationsAfter: report.operationsAfter, bytesBefore: report.bytesBefore,
            bytesAfter: report.bytesAfter, compactedThrough: report.compactedThrough,
            allocatedBytesBefore: report.allocatedBytesBefore,
            allocatedBytesAfter: report.allocatedBytesAfter,
            returnedBytes: report.returnedBytes, returnsSpace: report.returnsSpace)
    }

    private static func lines(_ report: CompactionReport, _ info: StoreInfo) -> [String] {
        let removed = report.removed.counted("operation")
        guard report.removed > 0 else {
            let waiting = info.outbox.pendingOperations + info.outbox.parkedOperations
            let reason =
                waiting > 0 && info.syncs
                ? "Of these, \(waiting.grouped) are not synced, and stay until they are."
                : "They hold the present records, or the option keeps them."
            return [
                "Nothing can be removed: \(report.operationsAfter.counted("operation")) stay. "
                    + reason,
                fileText(report),
            ]
        }
        return [
            "Compacted up to operation \(report.compactedThrough): \(removed) taken out, "
                + "\(report.operationsAfter.grouped) of \(report.operationsBefore.grouped) are left.",
            logText(report.bytesBefore, report.bytesAfter),
            fileText(report),
        ]
    }

    /// How the size of the log changed, and why it may have grown.
    static func logText(_ before: Int, _ after: Int) -> String {
        let text = "The log takes up \(after.asBytes); it was \(before.asBytes)."
        guard after > before else { return text }
        return text + " It grew because baselines took the place of the operations: each holds a "
            + "whole record, and an operation may hold one changed value."
    }

    private static func fileText(_ report: CompactionReport) -> String {
        let size = "The file takes up \(report.allocatedBytesAfter.asBytes) of the disk"
        guard report.returnsSpace else {
            return size + ". Its file system can't take free pages back; later writes use them."
        }
        guard report.allocatedBytesAfter <= report.allocatedBytesBefore else {
            return size + ": packing wrote pages anew. Later writes use the ones that became free."
        }
        return size + "; it was \(report.allocatedBytesBefore.asBytes)."
    }
}
