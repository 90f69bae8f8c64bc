import Backstitch
import Terminal

/// Lists the conflict journal, or undoes one of its conflicts.
struct ConflictsCommand: Command {
    private static let entity = Syntax.Option("entity", "NAME", "Only conflicts of an entity.")
    private static let record = Syntax.Option("record", "NAME", "Only conflicts of a record.")
    private static let policy = Syntax.Option(
        "policy", "POLICY", "Only conflicts that a policy decided, such as merge(serverWins).")
    private static let before = Syntax.Option(
        "before", "SEQUENCE", "Only conflicts before an operation: the next page.")
    private static let limit = Syntax.Option("limit", "N", "Only the newest N conflicts.")
    private static let undo = Syntax.Option(
        "undo", "SEQUENCE", "Gives a record back what it lost in the conflict, as a local edit.")
    private static let take = Syntax.Option(
        "take", "SIDE", "With --undo: the values of base, local or server instead.")

    let name = "conflicts"
    let summary = "Shows what was decided where both sides had changed a record, newest first."
    let syntax = Syntax(
        operands: [.store],
        options: [entity, record, policy, before, limit, undo, take, .json],
        notes: """
            JSON: one object a line, for each conflict the keys:
              sequence  the operation that settled it
              date      when, in UTC
              entity, record
              policy    what decided
              base, local, server, outcome
                        the record's values by attribute on each side and in the end; not there
                        where it did not exist
              copy      the name of the new record with the local version, where both were kept
            With --undo one object: {"sequence": N, "changed": true or false}
            """)

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        if let sequence = try arguments.number(Self.undo, as: UInt64.self) {
            return try await undo(sequence, arguments, console)
        }
        if arguments.text(Self.take) != nil {
            throw UsageError("--take goes with --undo.")
        }
        var filter = RecordConflict.Filter(
            entity: arguments.text(Self.entity),
            key: arguments.text(Self.record).map { RecordKey($0) },
            beforeSequence: try arguments.number(Self.before, as: UInt64.self))
        if let text = arguments.text(Self.policy) {
            guard let policy = ConflictPolicy(text) else {
                let known = ConflictPolicy.allCases.map(\.description).joined(separator: ", ")
                throw UsageError("There is no policy \(text.printable). There are: \(known).")
            }
            filter.policy = policy
        }
        let limit = try arguments.number(Self.limit, as: Int.self) ?? .max
        let store = try open(toShow: arguments.operands[0])
        defer { store.close() }
        let conflicts = try store.read { try $0.conflicts(matching: filter, limit: limit) }
        if conflicts.isEmpty, !arguments.has(.json) { console.output.line("No conflicts.") }
        for conflict in conflicts {
            if arguments.has(.json) {
                console.output.line(try JSON.line(ConflictDocument(conflict)))
            } else {
                for line in Self.lines(conflict) { console.output.line(line) }
            }
        }
        return .success
    }

    private func undo(
        _ sequence: UInt64, _ arguments: Arguments, _ console: Console
    ) async throws -> ExitCode {
        var side: RecordConflict.Side?
        if let text = arguments.text(Self.take) {
            side = RecordConflict.Side(rawValue: text)
            if side == nil {
                throw UsageError("--take is base, local or server, and not \(text.printable).")
            }
        }
        let store = try Store.open(existing: arguments.operands[0], access: .readWrite)
        defer { store.close() }
        let isChanged = try await store.undoConflict(
            sequence, taking: side, context: "undo of conflict \(sequence)")
        if arguments.has(.json) {
            console.output.line(try JSON.line(Undone(sequence: sequence, changed: isChanged)))
        } else {
            console.output.line(
                isChanged
                    ? "The record has what it lost in conflict \(sequence)."
                    : "The record has that already; nothing was changed.")
        }
        return .success
    }

    private struct Undone: Encodable {
        let sequence: UInt64
        let changed: Bool
    }

    private static func lines(_ conflict: RecordConflict) -> [String] {
        let sides = [
            ("base", conflict.base), ("local", conflict.local), ("server", conflict.server),
            ("outcome", conflict.outcome),
        ]
        let head =
            "\(conflict.sequence)  \(conflict.date?.utc ?? "")  "
            + "\(conflict.record.entity.printable)  "
            + "\(conflict.record.key.description.printable)  \(conflict.policyName)"
        let names = Set(sides.flatMap { $0.1.map { Array($0.keys) } ?? [] }).sorted()
        var rows = [["", "base", "local", "server", "outcome"]]
        for name in names {
            let values = sides.map { $0.1?[name].map { LogLines.text($0) } ?? "-" }
            // What is the same on all sides says nothing.
            if Set(values).count > 1 { rows.append([name.printable] + values) }
        }
        let gone = sides.filter { $0.1 == nil }.map(\.0)
        var lines = [head] + Table.lines(rows, indent: 10)
        if !gone.isEmpty {
            lines.append("          no such record: \(gone.joined(separator: ", "))")
        }
        if let copy = conflict.copy {
            lines.append("          copy  \(copy.name.printable)")
        }
        return lines
    }
}

/// The JSON of a conflict.
struct ConflictDocument: Encodable {
    private enum Key: String, CodingKey { case sequence, date, entity, record }

    private let conflict: RecordConflict
    var settled: LogDocument.Settled

    init(_ conflict: RecordConflict) {
        self.conflict = conflict
        settled = LogDocument.Settled(conflict)
    }

    func encode(to encoder: any Encoder) throws {
        try settled.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(conflict.sequence, forKey: .sequence)
        try container.encode(conflict.date?.utc, forKey: .date)
        try container.encode(conflict.record.entity, forKey: .entity)
        try container.encode(conflict.record.key.description, forKey: .record)
    }
}
