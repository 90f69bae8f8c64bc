import Backstitch
import BackstitchTesting
import Foundation
import LMDB

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

        try await edit(first, both + onA + deletedOnB) { record in
            record.text = "On A: " + record.text
            record.rank = "important"
        }
        try await delete(first, deletedOnA)
        try await replace(first, replaced)
        try await edit(second, both + onB + deletedOnA) { record in
            record.text = "On B: " + record.text
            record.reviewedAt = Self.now
        }
        try await delete(second, deletedOnB + gone)

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
                let (report, _) = try await sync(device, policy)
                conflicts += report.conflicts
                moved += report.pushedRecords + report.changes.sequences.count
            }
            if moved == 0 { return (round, conflicts) }
        }
        failures.append("The devices did not come to rest in 10 rounds.")
        return (10, conflicts)
    }

    private static var now: Date {
        Date(timeIntervalSince1970: Double(LiveValues.milliseconds()) / 1_000)
    }

    private func ids(_ group: DemoGroup, max: Int = DemoGroup.editsMax) -> [Record.ID] {
        stride(from: group.rawValue, to: data.records.count, by: DemoGroup.count).prefix(max)
            .map { data.records[$0].id }
    }

    /// Changes those of the records that a device has.
    private func edit(
        _ device: DemoDevice, _ ids: [Record.ID],
        _ change: @escaping @Sendable (inout Record) -> Void
    ) async throws {
        for part in Self.parts(of: ids.count) {
            let ids = ids[part]
            try await device.store.write { transaction in
                for id in ids {
                    guard var record = try transaction.find(Record.self, id) else { continue }
                    change(&record)
                    try transaction.save(record)
                }
            }
        }
    }

    private func delete(_ device: DemoDevice, _ ids: [Record.ID]) async throws {
        try await device.store.write { transaction in
            for id in ids { try transaction.delete(id) }
        }
    }

    /// Deletes records, and makes them again with other values.
    private func replace(_ device: DemoDevice, _ ids: [Record.ID]) async throws {
        try await device.store.write { transaction in
            for id in ids {
                guard var record = try transaction.find(Record.self, id) else { continue }
                try transaction.delete(id)
                record.text = "Made again on A"
                try transaction.save(record)
            }
        }
    }

    // MARK: One conflict in full

    private func showConflict() throws {
        let conflicts = try second.store.read { try $0.conflicts(limit: 2_000) }
        guard
            let conflict = conflicts.last(where: {
                $0.base != nil && $0.local != nil && $0.server != nil && $0.outcome != nil
            })
        else { return }
        tell("   One of them, \(conflict.entity) \(conflict.record.name.description.printable):")
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

    static func describe(_ value: Value) -> String {
        switch value {
        case .null: "-"
        case .string(let text): text.printable
        case .int64(let number): String(number)
        case .date(let milliseconds):
            Date(timeIntervalSince1970: Double(milliseconds) / 1_000).utc
        case .reference(let key): key.name.description.printable
        default: String(describing: value).printable
        }
    }
}

extension DemoStory {
    /// What a device is left with after its end: nothing that it writes counts any more.
    private struct Killed: Error {}

    // MARK: A crash

    /// Device A dies in the middle of a push: the service has taken a request, its reply is lost,
    /// and nothing that A held in memory lives on.
    mutating func crash() async throws {
        // A single record is in the first group, which is never deleted either.
        let edited =
            data.records.count == 1
            ? ids(.editedOnBoth) : ids(.editedOnA) + ids(.editedOnB)
        try await edit(first, edited) { $0.text = "Late: " + $0.text }
        let perRequest = await first.service.limits.operationsPerRequest
        let requests = edited.count / perRequest + 1
        let countdown = Locked(requests / 2)
        let store = first.store
        let service = first.service
        service.beforeReply = { () throws(ServiceError) in
            let isLast = countdown.withLock { left in
                left -= 1
                return left < 0
            }
            guard isLast else { return }
            store.setCommitFault { throw Killed() }
            throw ServiceError(.network, reason: "the device is gone")
        }
        do {
            let engine = first.engine(.serverWins)
            _ = try await engine.sync()
            failures.append("Device A was to die in the middle of a push and did not.")
            await engine.stop()
        } catch is SyncError {
            // It died.
        }
        service.beforeReply = nil
        let known = try first.waiting()
        try first.reopen()
        let waiting = try first.waiting()
        let (repaired, _) = try await sync(first, .serverWins)
        let left = try first.waiting()
        _ = try await converge(.serverWins)
        if known != waiting { failures.append("A knew more before the crash than after it.") }
        if left.pendingRecords > 0 { failures.append("A has something to push after the crash.") }
        tell("")
        tell("5. Device A edits \(edited.count.counted("record")) and is killed while it pushes.")
        tell(
            "   The service had taken a request whose reply was lost. Opened again, A still has "
                + "\(waiting.pendingRecords.counted("record")) to push;")
        tell(
            "   it recognised its own writes: \(repaired.conflicts.counted("conflict")), "
                + "\(left.pendingRecords.grouped) left.")
    }
}
