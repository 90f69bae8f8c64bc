import Backstitch
import BackstitchCore
import Foundation
import Terminal

/// Which of the records something happens to: each belongs to one group, by its place.
private enum DemoGroup: Int {
    case editedOnBoth, editedOnA, editedOnB, deletedOnAEditedOnB, replacedOnA, deletedOnB
    case editedOnADeletedOnB, laterDeletedOnAEditedOnB, laterEditedOnADeletedOnB

    static let count = 9
    /// The most records of a group that are edited, and that are deleted.
    static let editsMax = 1_000
    static let deletesMax = 100
}

extension DemoStory {
    // MARK: Edits on both sides

    /// Both devices go offline and change things, then meet under a policy until nothing is left.
    mutating func disagree(under policy: ConflictPolicy) async throws {
        let isFirst = policy == .serverWins
        let pairs: (deletedOnA: DemoGroup, deletedOnB: DemoGroup) =
            isFirst
            ? (.deletedOnAEditedOnB, .editedOnADeletedOnB)
            : (.laterDeletedOnAEditedOnB, .laterEditedOnADeletedOnB)
        let both = ids(.editedOnBoth)
        let onA = ids(.editedOnA)
        let onB = ids(.editedOnB)
        let deletedOnA = ids(pairs.deletedOnA, max: DemoGroup.deletesMax)
        let deletedOnB = ids(pairs.deletedOnB, max: DemoGroup.deletesMax)
        let replaced = isFirst ? ids(.replacedOnA, max: DemoGroup.deletesMax) : []
        let gone = isFirst ? ids(.deletedOnB, max: DemoGroup.deletesMax) : []

        try await perform(
            .edit(.onA, records: both + onA + deletedOnB), on: first, "Editing on A")
        try await perform(.delete(records: deletedOnA), on: first, "Deleting on A")
        try await perform(.replace(records: replaced), on: first, "Replacing on A")
        try await perform(
            .edit(.onB, records: both + onB + deletedOnA), on: second, "Editing on B")
        try await perform(.delete(records: deletedOnB + gone), on: second, "Deleting on B")

        let (_, conflicts) = try await converge(policy)
        if isFirst {
            report.conflicts.serverWins = conflicts
        } else {
            report.conflicts.clientWins = conflicts
        }
        tell("")
        tell(
            isFirst
                ? "3. Both go offline and edit; then A and B synchronise under serverWins."
                : "4. Both go offline and edit again; now they synchronise under clientWins.")
        tell(
            "   \(both.count.counted("record")) edited on both, \(onA.count.grouped) on A alone, "
                + "\(onB.count.grouped) on B alone,")
        tell(
            "   \((deletedOnA.count + deletedOnB.count).grouped) deleted on one and edited on the "
                + "other"
                + (isFirst
                    ? ", \(replaced.count.grouped) deleted and made again on A, "
                        + "\(gone.count.grouped) deleted on B alone." : "."))
        tell("   \(conflicts.counted("conflict")), each in the journal with all its sides.")
        if isFirst { try showConflict() }
    }

    /// Lets both devices exchange until there is nothing left to exchange.
    mutating func converge(
        _ policy: ConflictPolicy
    ) async throws -> (rounds: Int, conflicts: Int) {
        var conflicts = 0
        for round in 1...10 {
            var moved = 0
            for device in [first, second] {
                let answer = try await sync(device, policy)
                conflicts += answer.conflicts
                moved += answer.pushedRecords + answer.operations
            }
            if moved == 0 { return (round, conflicts) }
        }
        failures.append("The devices did not come to rest in 10 rounds.")
        return (10, conflicts)
    }

    private func ids(_ group: DemoGroup, max: Int = DemoGroup.editsMax) -> [String] {
        stride(from: group.rawValue, to: data.records.count, by: DemoGroup.count).prefix(max)
            .map { data.records[$0].id.description }
    }

    // MARK: One conflict in full

    private func showConflict() throws {
        let store = try Store(at: second.path, schema: data.schema)
        defer { store.close() }
        let conflicts = try store.read { try $0.conflicts(limit: 2_000) }
        guard
            let conflict = conflicts.last(where: {
                $0.base != nil && $0.local != nil && $0.server != nil && $0.outcome != nil
            })
        else { return }
        tell("   One of them, \(conflict.record.entity) \(conflict.record.name.printable):")
        let sides = [conflict.base, conflict.local, conflict.server, conflict.outcome]
        let names = Set(sides.flatMap { $0.map { Array($0.keys) } ?? [] }).sorted()
        var rows = [["attribute", "base", "local (B)", "server (A's)", "outcome"]]
        for name in names {
            let values = sides.map { $0?[name] ?? .null }
            guard Set(values).count > 1 else { continue }
            rows.append([name] + values.map { Self.describe($0).shortened(to: 30) })
        }
        for line in Table.lines(rows, indent: 6) { tell(line) }
        tell("      The other \((names.count - rows.count + 1).grouped) attributes are the same.")
    }

    static func describe(_ value: RecordValue) -> String {
        switch value {
        case .null: "-"
        case .string(let text): text.printable
        case .date(let milliseconds):
            Date(timeIntervalSince1970: Double(milliseconds) / 1_000).utc
        case .reference(let key): key.name.description.printable
        default: value.traits?.text(of: value) ?? String(describing: value).printable
        }
    }
}

extension DemoStory {
    // MARK: A crash

    /// Device A dies in the middle of a push: the service has taken a request, its reply is lost,
    /// and nothing that A held in memory lives on.
    mutating func crash() async throws {
        // A single record is in the first group, which is never deleted either.
        let edited =
            data.records.count == 1
            ? ids(.editedOnBoth) : ids(.editedOnA) + ids(.editedOnB)
        let perRequest = try await sync(first, .serverWins).operationsPerRequest
        try await perform(.edit(.late, records: edited), on: first, "Editing on A")
        let requests = edited.count / perRequest + 1
        let place = first.place
        let known = try await first.dieWhilePushing(requests: requests / 2)
        let waiting = try await perform(.count, on: first, "Counting").waiting
        let repaired = try await sync(first, .serverWins)
        _ = try await converge(.serverWins)
        if known != waiting { failures.append("A knew more before the crash than after it.") }
        if repaired.waiting.records > 0 {
            failures.append("A has something to push after the crash.")
        }
        tell("")
        tell("5. Device A edits \(edited.count.counted("record")) and is killed while it pushes.")
        if let place, let now = first.place {
            tell("   \(place.capitalized) got a SIGKILL; \(now) is A from here on.")
        }
        tell(
            "   The service had taken a request whose reply was lost. Opened again, A still has "
                + "\(waiting.records.counted("record")) to push;")
        tell(
            "   it recognised its own writes: \(repaired.conflicts.counted("conflict")), "
                + "\(repaired.waiting.records.grouped) left.")
    }
}
