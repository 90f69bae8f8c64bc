import Backstitch
import Terminal

/// Erases the values of one record.
struct EraseCommand: Command {
    private struct Document: Encodable {
        let store: String
        let entity: String
        let name: String
        let operations: Int
        let deletesOnService: Bool
        let rewritten: Bool
    }

    private static let onService = Syntax.Option(
        "on-service", nil, "Also deletes the record on the service, with the next synchronisation.")
    private static let keepFile = Syntax.Option(
        "keep-file", nil, "Leaves deleted bytes in the file until they are overwritten.")

    let name = "erase"
    let summary = "Deletes a record, and takes its values out of the log and the history."
    let syntax = Syntax(
        operands: [
            .store, Syntax.Operand(name: "ENTITY", summary: "The name of the record's entity."),
            Syntax.Operand(name: "NAME", summary: "The record's name, or its UUID."),
        ],
        options: [onService, keepFile, .json],
        notes: """
            The record is deleted, and its values go from the log, the history, the conflict journal,
            indexes and views. That there was a record stays: its name, times and authors. It can't be
            undone. A record that was deleted before can be erased too.

            The service keeps the record unless --on-service is given. A record with changes that the
            service lacks is not erased: synchronise first.

            Then the file is written anew, because deleted bytes stay in it until their space is used.
            For that no program may have the store open: if one has, the record is erased, the exit
            code is 2, and the command can be run again. Backups and exports keep what they have.

            JSON: one object.
              store, entity, name  as given
              operations        the number of operations whose values were erased
              deletesOnService  whether --on-service was given
              rewritten         whether the file was written anew
            """)

    func interruptionText(_ arguments: Arguments) -> String? {
        "The record is erased or as it was; run it again."
    }

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let path = arguments.operands[0]
        let record = RecordID(entity: arguments.operands[1], name: arguments.operands[2])
        let isOnService = arguments.has(Self.onService)
        let count = try await Self.erase(record, in: path, deletesOnService: isOnService)
        let rewrites = !arguments.has(Self.keepFile)
        if rewrites { try Store.rewriteFile(at: path) }
        guard !arguments.has(.json) else {
            console.output.line(
                try JSON.line(
                    Document(
                        store: path, entity: record.entity, name: arguments.operands[2],
                        operations: count, deletesOnService: isOnService, rewritten: rewrites)))
            return .success
        }
        console.output.line(
            count > 0
                ? "Erased the values of \(count.counted("operation"))."
                : "The values of the record were erased before.")
        console.output.line(
            rewrites
                ? "The file was written anew and has nothing of them."
                : "The file may keep the bytes until their space is used.")
        return .success
    }

    private static func erase(
        _ record: RecordID, in path: String, deletesOnService: Bool
    ) async throws -> Int {
        let store = try Store.open(existing: path, access: .readWrite, checksPages: true)
        defer { store.close() }
        return try await store.erase(record, deletesOnService: deletesOnService)
    }
}
