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
        options: [
            entity, record, ZoneOptions.zone, ZoneOptions.owner, policy, before, limit, undo, take,
            .json,
        ],
        notes: """
            JSON: one object a line, for each conflict the keys:
              sequence  the operation that settled it
              date      when, in UTC
              entity, record
              zone, owner
                        the name of the record's zone, and whose that is; neither where it is the
                        store's own, and no owner where it is yours
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
        let store = try open(toShow: arguments.operands[0])
        defer { store.close() }
        let zone = try ZoneOptions.chosen(arguments, of: store)
        var filter = RecordConflict.Filter(
            entity: arguments.text(Self.entity),
            key: ZoneOptions.key(Self.record, arguments, in: zone), zone: zone,
            beforeSequence: try arguments.number(Self.before, as: UInt64.self))
        if let text = arguments.text(Self.policy) {
            guard let policy = ConflictPolicy(text) else {
                let known = ConflictPolicy.allCases.map(\.description).joined(separator: ", ")
                throw UsageError("There is no policy \(text.printable). There are: \(known).")
            }
            filter.policy = policy
        }
        let limit = try arguments.number(Self.limit, as: Int.self) ?? .max
        let conflicts = try store.read { try $0.conflicts(matching: filter, limit: limit) }
        if conflicts.isEmpty, !arguments.has(.json) { console.output.line("No conflicts.") }
        for conflict in conflicts {
            if arguments.has(.json) {
                console.output.line(try JSON.line(ConflictDocument(conflict, of: store)))
            } else {
                for line in Self.lines(conflict, of: store) { console.output.line(line) }
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

    private static func lines(_ conflict: RecordConflict, of store: Store) -> [String] {
        let sides = [
            ("base", conflict.base), ("local", conflict.local), ("server", conflict.server),
            ("outcome", conflict.outcome),
        ]
        let head =
            "\(conflict.sequence)  \(conflict.date?.utc ?? "")  "
            + "\(conflict.record.entity.printable)  "
            + "\(conflict.record.key.text(in: store).printable)  \(conflict.policyName)"
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
    private enum Key: String, CodingKey { case sequence, date, entity, record, zone, owner }

    private let conflict: RecordConflict
    private let zone: ZoneName?
    var settled: LogDocument.Settled

    init(_ conflict: RecordConflict, of store: Store) {
        self.conflict = conflict
        zone = ZoneName(of: conflict.record.key, in: store)
        settled = LogDocument.Settled(conflict)
    }

    func encode(to encoder: any Encoder) throws {
        try settled.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(conflict.sequence, forKey: .sequence)
        try container.encode(conflict.date?.utc, forKey: .date)
        try container.encode(conflict.record.entity, forKey: .entity)
        try container.encode(conflict.record.name, forKey: .record)
        try container.encodeIfPresent(zone?.name, forKey: .zone)
        try container.encodeIfPresent(zone?.owner, forKey: .owner)
    }
}
