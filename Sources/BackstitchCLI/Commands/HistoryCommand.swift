import Backstitch
import Terminal

/// Shows the history of one record.
struct HistoryCommand: Command {
    private static let limit = Syntax.Option("limit", "N", "Only the last N operations.")

    let name = "history"
    let summary = "Shows what happened to a record, newest first."
    let syntax = Syntax(
        operands: [
            .store, Syntax.Operand(name: "ENTITY", summary: "The name of the record's entity."),
            Syntax.Operand(name: "NAME", summary: "The record's name, or its UUID."),
        ],
        options: [limit, .json],
        notes: """
            Shown are the operations that changed the record's content, those of earlier lives of
            its name that are linked to it included. What was compacted away is not: the history
            ends with a baseline then, which is the record as it was at that moment.

            JSON: one object a line, for each operation the keys that 'log' has, and:
              values  the record's values after the operation by attribute; not there where the
                      record ended
            """)

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let limit = try arguments.number(Self.limit, as: Int.self)
        let record = RecordID(entity: arguments.operands[1], name: arguments.operands[2])
        let store = try open(toShow: arguments.operands[0])
        defer { store.close() }
        let history = try store.history(of: record, limit: limit ?? .max)
        guard !history.isEmpty else {
            throw StoreError(
                .notFound,
                "The log has no operation of a record \(arguments.operands[2].printable) of "
                    + "\(record.entity.printable). Names of UUIDs are in upper case.")
        }
        for entry in history {
            if arguments.has(.json) {
                console.output.line(try JSON.line(HistoryDocument(entry, of: store)))
            } else {
                for line in LogLines.lines(entry.operation, of: store) { console.output.line(line) }
                if entry.isBaseline { console.output.line(Self.baselineNote) }
            }
        }
        return .success
    }

    private static let baselineNote = "          What was before was compacted."
}

/// The JSON of a step in a record's history: that of its operation, and the values after it.
struct HistoryDocument: Encodable {
    private enum Key: String, CodingKey { case values }

    var operation: LogDocument
    var values: [String: RecordValue]?

    init(_ entry: HistoryEntry, of store: Store) {
        operation = LogDocument(entry.operation, of: store)
        values = entry.values
    }

    func encode(to encoder: any Encoder) throws {
        try operation.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(values, forKey: .values)
    }
}
