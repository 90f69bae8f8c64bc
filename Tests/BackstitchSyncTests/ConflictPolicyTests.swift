import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import Threading
import TestBudget
import Testing

/// Policies end to end: who wins, what the journal keeps, and what an undo brings back.
@Suite(.budgeted) struct ConflictPolicyTests {
    let cloud = SimulatedCloud()

    private func synced(
        _ configure: (inout SyncConfiguration) -> Void
    ) async throws -> Device {
        try await .withBase(cloud, configure: configure)
    }

    // MARK: Field by field

    @Test func `edits of different fields both reach both sides`() async throws {
        let phone = try await synced { $0.conflictPolicy = .merge(otherwise: .serverWins) }
        try await phone.note("a", "mine", body: "base")
        try cloud.editNote(["body": .string("theirs")])
        #expect(try await phone.sync().conflicts == 0)
        #expect(remote(cloud) == ["Note a {body: theirs, title: mine}"])
        #expect(try phone.engine.conflicts().isEmpty)
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `rules of entities and fields come before those of the store`() async throws {
        let phone = try await synced {
            $0.conflictRules = ConflictRules(
                .serverWins,
                entities: [
                    "Note": ConflictRules.EntityRules(
                        policy: .merge(otherwise: .serverWins), fields: ["title": .clientWins])
                ])
        }
        try await phone.note("a", "mine", body: "mine")
        try cloud.editNote(["title": .string("theirs"), "body": .string("theirs")])
        #expect(try await phone.sync().conflicts == 1)
        #expect(remote(cloud) == ["Note a {body: theirs, title: mine}"])
        let conflict = try #require(try phone.engine.conflicts().first)
        #expect(conflict.policy == .merge(otherwise: .serverWins))
        #expect(conflict.local?["body"] == .string("mine"))
        #expect(conflict.outcome?["title"] == .string("mine"))
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `rules for what there is not are refused`() async throws {
        let phone = try Device(cloud) {
            $0.conflictRules.entities = [
                "Nothing": ConflictRules.EntityRules(policy: .clientWins),
                "Note": ConflictRules.EntityRules(fields: ["titel": .clientWins]),
            ]
        }
        let error = await syncError { try await phone.sync() }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("Note.titel, Nothing") == true)
        #expect(cloud.requests.isEmpty)
    }

    // MARK: Both

    @Test func `both versions are kept, and the journal names the copy`() async throws {
        let phone = try await synced { $0.conflictPolicy = .keepBoth }
        try await phone.note("a", "mine", body: "base")
        try cloud.editNote(["title": .string("theirs")])
        #expect(try await phone.sync().conflicts == 1)
        let copy = try #require(try phone.engine.conflicts().first?.copy)
        #expect(try phone.titles() == ["a": "theirs", copy.name: "mine"])
        #expect(cloud.records(in: scenarioZone).count == 2)
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `what the service deleted lives on as a copy`() async throws {
        let phone = try await synced { $0.conflictPolicy = .keepBoth }
        try await phone.note("a", "mine", body: "base")
        try cloud.remove("a", in: scenarioZone)
        try await phone.sync()
        let copy = try #require(try phone.engine.conflicts().first?.copy)
        #expect(try phone.titles() == [copy.name: "mine"])
        try await phone.expectEqualToFresh(cloud)
    }

    // MARK: Asking

    @Test func `the application is asked with all sides, and decides`() async throws {
        let asked = Locked<[RecordConflict]>([])
        let phone = try await synced {
            $0.conflictPolicy = .resolver
            $0.conflictResolver = { conflict in
                asked.withLock { $0.append(conflict) }
                return .fields(["title": .string("decided")])
            }
        }
        try await phone.note("a", "mine", body: "mine")
        try cloud.editNote(["title": .string("theirs")])
        #expect(try await phone.sync().conflicts == 1)
        #expect(remote(cloud) == ["Note a {body: base, title: decided}"])
        let conflict = try #require(asked.withLock { $0 }.first)
        #expect(conflict.record == RecordID(entity: "Note", name: "a"))
        #expect(conflict.base?["title"] == .string("base"))
        #expect(conflict.local?["title"] == .string("mine"))
        #expect(conflict.server?["title"] == .string("theirs"))
        #expect(conflict.locallyChanged == ["title", "body"])
        #expect(conflict.changedOnService == ["title"] && conflict.contested == ["title"])
        #expect(conflict.localDate != nil && conflict.serverDate != nil && conflict.sequence == 0)
        #expect(asked.withLock { $0.count } == 1)
        try await phone.expectEqualToFresh(cloud)
    }

    @Test(arguments: [
        (RecordConflict.Resolution.server, "theirs"), (.client, "mine"),
        (.fields(["title": "decided"]), "decided"), (.fields(["body": "decided"]), "theirs"),
    ])
    func `an application decides within a merge only the attributes that both sides changed`(
        answer: RecordConflict.Resolution, title: String
    ) async throws {
        let asked = Locked<[Set<String>]>([])
        let phone = try await synced {
            $0.conflictPolicy = .merge(otherwise: .resolver)
            $0.conflictResolver = { conflict in
                asked.withLock { $0.append(conflict.contested) }
                return answer
            }
        }
        try await phone.note("a", "mine", body: "here")
        try cloud.editNote(["title": .string("theirs")])
        #expect(try await phone.sync().conflicts == 1)
        #expect(asked.withLock { $0 } == [["title"]])
        #expect(remote(cloud) == ["Note a {body: here, title: \(title)}"])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `an event has what the journal has, and the sides are values of the type`()
        async throws
    {
        let phone = try await synced { $0.conflictPolicy = .serverWins }
        let events = phone.engine.events
        try await phone.note("a", "mine", body: "base")
        try cloud.editNote(["title": .string("theirs")])
        try await phone.sync()
        var told: [RecordConflict] = []
        for await event in events {
            if case .conflict(let conflict) = event { told.append(conflict) }
            if case .finished = event { break }
        }
        #expect(told == (try phone.engine.conflicts()))
        let conflict = try #require(told.first)
        #expect(try conflict.local(as: Note.self)?.title == "mine")
        #expect(try conflict.server(as: Note.self)?.title == "theirs")
        #expect(try conflict.base(as: Note.self)?.id == "a")
        #expect(try conflict.outcome(as: Note.self) == conflict.server(as: Note.self))
        #expect(conflict.local?["title"] == "mine")
        let other = #expect(throws: StoreError.self) { try conflict.local(as: Chore.self) }
        #expect(other?.code == .unknownEntity)
    }

    private enum Bad: CaseIterable, Sendable {
        case throwing, unknownField, wrongType, missing
    }

    @Test(arguments: Bad.allCases)
    private func `an application that can't decide parks the record and stops nothing`(
        bad: Bad
    ) async throws {
        struct Undecided: Error {}
        let phone = try await synced {
            $0.conflictPolicy = .resolver
            switch bad {
            case .throwing: $0.conflictResolver = { _ in throw Undecided() }
            case .unknownField: $0.conflictResolver = { _ in .fields(["titel": .string("x")]) }
            case .wrongType: $0.conflictResolver = { _ in .fields(["title": .bool(true)]) }
            case .missing: $0.conflictResolver = { _ in .fields(["title": .null]) }
            }
        }
        try await phone.note("a", "mine", body: "base")
        try await phone.note("b", "other")
        try cloud.editNote(["title": .string("theirs")])
        let report = try await phone.sync()
        #expect(report.parkedRecords == 1)
        #expect(try phone.engine.parked().map(\.record.name) == ["a"])
        #expect(remote(cloud) == ["Note a {body: base, title: theirs}", "Note b {title: other}"])
        #expect(try phone.titles()["a"] == "mine")
        // A retry meets the service's version again, and another resolver settles it.
        let wiser = await phone.restarted { $0.conflictResolver = { _ in .client } }
        try await wiser.engine.retryParked()
        try await wiser.sync()
        #expect(remote(cloud).first == "Note a {body: base, title: mine}")
        try await wiser.expectEqualToFresh(cloud)
    }

    /// The service was found not to have it while it was parked.
    @Test(arguments: [false, true], [false, true])
    func `a record that was parked, retried and pushed stays on its device`(
        beganHere: Bool, isGivenUp: Bool
    ) async throws {
        struct Undecided: Error {}
        let phone = try Device(cloud) {
            $0.conflictPolicy = .resolver
            $0.conflictResolver = { _ in throw Undecided() }
        }
        // The round makes the zone.
        try await phone.sync()
        try cloud.editNote(["title": .string("theirs")])
        if beganHere {
            try await phone.store.write(isLocalOnly: true) {
                _ = try $0.save(Note(id: "a", title: "kept"))
            }
        } else {
            try await phone.sync()
            try cloud.editNote(["title": .string("newer")])
        }
        try await phone.note("a", "mine")
        #expect(try await phone.sync().parkedRecords == 1)
        try cloud.remove("a", in: scenarioZone)
        try await phone.sync()
        #expect(try phone.engine.parked().map(\.record.name) == ["a"])
        let wiser = await phone.restarted { $0.conflictResolver = { _ in .client } }
        try await wiser.engine.retryParked()
        try await wiser.sync()
        #expect(remote(cloud) == ["Note a {title: mine}"])
        #expect(try wiser.titles() == ["a": "mine"])
        if isGivenUp {
            // The echo of the push comes while an edit waits, which is refused and then given up.
            try await wiser.note("a", "refused")
            wiser.service.inject(
                ScriptedFault(.error(.invalidRequest), on: .modify, for: .untilCleared))
            try await wiser.sync()
            wiser.service.endFaults()
            #expect(try await wiser.engine.discardParked(wiser.engine.parked()) == 1)
        }
        for _ in 0..<3 { try await wiser.sync() }
        #expect(try wiser.titles() == ["a": "mine"])
        try await wiser.expectEqualToFresh(cloud)
    }

    @Test func `a new record that met another one is not looked up once both are gone`()
        async throws
    {
        let phone = try Device(cloud) {
            $0.conflictPolicy = .resolver
            $0.conflictResolver = { _ in .park(reason: "later") }
        }
        try await phone.sync()
        try await phone.note("a", "mine")
        try cloud.write(
            "a", type: "Note", fields: ["title": .string("theirs")], in: scenarioZone)
        #expect(try await phone.sync().parkedRecords == 1)
        try cloud.remove("a", in: scenarioZone)
        try await phone.sync()
        #expect(try await phone.engine.discardParked(phone.engine.parked()) == 1)
        try await phone.sync()
        #expect(try phone.titles() == [:])
        #expect(try phone.store.read { try !$0.reader.meta.hasNotes(.missed, in: 0) })
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `a record parked in a conflict with a restored version is pushed after a retry`()
        async throws
    {
        struct Undecided: Error {}
        var options = SimulatedCloud.Options()
        options.conflictsCarryServerRecord = false
        let cloud = SimulatedCloud(options: options)
        let phone = try Device(cloud) {
            $0.conflictPolicy = .resolver
            $0.conflictResolver = { _ in throw Undecided() }
        }
        try await phone.note("a", "one")
        try await phone.sync()
        let backup = cloud.snapshot()
        try await phone.note("a", "two")
        try await phone.sync()
        cloud.restore(to: backup)
        try await phone.note("a", "mine")
        try await phone.sync()
        #expect(try phone.engine.parked().map(\.record.name) == ["a"])
        let wiser = await phone.restarted { $0.conflictResolver = { _ in .client } }
        try await wiser.engine.retryParked()
        try await wiser.sync()
        #expect(remote(cloud) == ["Note a {title: mine}"])
        try await wiser.expectEqualToFresh(cloud)
    }

    @Test func `an application that never answers parks the record when its time is up`()
        async throws
    {
        let clock = ManualClock()
        let phone = try await synced {
            $0.conflictPolicy = .resolver
            $0.resolverMilliseconds = 5_000
            $0.clock = clock
            $0.conflictResolver = { _ in
                while !Task.isCancelled { await Task.yield() }
                throw CancellationError()
            }
        }
        try await phone.note("a", "mine", body: "base")
        try cloud.editNote(["title": .string("theirs")])
        async let report = phone.sync()
        while clock.sleeperCount == 0, !Task.isCancelled { await Task.yield() }
        clock.advance(milliseconds: 5_000)
        #expect(try await report.parkedRecords == 1)
        #expect(try phone.engine.parked().first?.reason.contains("5000 ms") == true)
    }

    @Test func `resolvers that block their threads park the records when their time is up`()
        async throws
    {
        let (clock, door, isOpen) = (ManualClock(), Monitor(), Locked(false))
        defer {
            isOpen.withLock { $0 = true }
            door.inside { door.broadcast() }
        }
        let phone = try await synced {
            $0.conflictPolicy = .resolver
            $0.resolverMilliseconds = 5_000
            $0.clock = clock
            $0.conflictResolver = { _ in
                door.inside { while !isOpen.withLock({ $0 }) { door.wait() } }
                return .client
            }
        }
        // More than the threads that all tasks share.
        let count = min(60, ProcessInfo.processInfo.activeProcessorCount + 1)
        for number in 0..<count { try await phone.note("n\(number)", "base") }
        try await phone.sync()
        for number in 0..<count {
            try await phone.note("n\(number)", "mine")
            try cloud.write(
                "n\(number)", type: "Note", fields: ["title": .string("theirs")],
                in: scenarioZone)
        }
        async let report = phone.sync()
        while clock.sleeperCount < count, !Task.isCancelled { await Task.yield() }
        clock.advance(milliseconds: 5_000)
        #expect(try await report.parkedRecords == count)
    }

    @Test func `an edit while the application decides is asked about again`() async throws {
        let store = try Store.inMemory(schema: scenarioSchema)
        let asked = Locked<[RecordValue?]>([])
        let phone = try Device(cloud, store: store) {
            $0.conflictPolicy = .resolver
            $0.conflictResolver = { conflict in
                let isFirst = asked.withLock { asked in
                    asked.append(conflict.local?["title"])
                    return asked.count == 1
                }
                if isFirst {
                    _ = try await store.write {
                        try $0.save(Note(id: Note.ID("a"), title: "newer", body: "base"))
                    }
                }
                return .client
            }
        }
        try await phone.note("a", "base", body: "base")
        try await phone.sync()
        try await phone.note("a", "mine", body: "base")
        try cloud.editNote(["title": .string("theirs")])
        try await phone.sync()
        #expect(asked.withLock { $0 } == [.string("mine"), .string("newer")])
        #expect(remote(cloud) == ["Note a {body: base, title: newer}"])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `the application is asked in a push and at the end of a full fetch too`()
        async throws
    {
        let asked = Locked(0)
        let phone = try await synced {
            $0.conflictPolicy = .resolver
            $0.conflictResolver = { _ in
                asked.withLock { $0 += 1 }
                return .client
            }
        }
        // The service's edit comes between the pull and the push.
        try await phone.note("a", "mine", body: "base")
        phone.service.beforeRequest = { [cloud] info throws(ServiceError) in
            guard info.kind == .modify, asked.withLock({ $0 }) == 0 else { return }
            _ = try? cloud.write(
                "a", type: "Note", fields: ["title": .string("theirs")], in: scenarioZone)
        }
        try await phone.sync()
        phone.service.beforeRequest = nil
        #expect(asked.withLock { $0 } == 1)
        #expect(remote(cloud) == ["Note a {body: base, title: mine}"])
        // A record that a full fetch does not find any more.
        try await phone.note("a", "again", body: "base")
        try cloud.remove("a", in: scenarioZone)
        cloud.forgetTombstones(of: scenarioZone)
        cloud.expireTokens(of: scenarioZone)
        try await phone.sync()
        #expect(asked.withLock { $0 } == 2)
        #expect(remote(cloud) == ["Note a {body: base, title: again}"])
        try await phone.expectEqualToFresh(cloud)
    }

    // MARK: The journal

    @Test func `an undo brings back what was lost, as an edit`() async throws {
        let phone = try await synced { $0.conflictPolicy = .serverWins }
        try await phone.note("a", "mine", body: "base")
        try cloud.editNote(["title": .string("theirs")])
        try await phone.sync()
        try cloud.editNote(["body": .string("later")])
        try await phone.sync()
        let conflict = try #require(try phone.engine.conflicts().first)
        #expect(try await phone.store.undoConflict(conflict.sequence))
        #expect(try await !phone.store.undoConflict(conflict.sequence))
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {body: later, title: mine}"])
        #expect(try await phone.store.undoConflict(conflict.sequence, taking: .base))
        #expect(try phone.titles() == ["a": "base"])
        await #expect(throws: StoreError.self) { try await phone.store.undoConflict(1) }
        try await phone.sync()
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `an undo inserts what was deleted, and deletes what was not there`() async throws {
        let phone = try await synced { $0.conflictPolicy = .serverWins }
        try await phone.note("a", "mine", body: "base")
        try cloud.remove("a", in: scenarioZone)
        try await phone.sync()
        #expect(try phone.titles().isEmpty)
        let first = try #require(try phone.engine.conflicts().first)
        #expect(try await phone.store.undoConflict(first.sequence))
        #expect(try phone.titles() == ["a": "mine"])
        try await phone.sync()
        try await phone.delete(Note.ID("a"))
        try cloud.editNote(["title": .string("theirs")])
        try await phone.sync()
        #expect(try phone.titles() == ["a": "theirs"])
        let second = try #require(try phone.engine.conflicts().first)
        #expect(try await phone.store.undoConflict(second.sequence))
        #expect(try phone.titles().isEmpty)
        try await phone.sync()
        #expect(remote(cloud).isEmpty)
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `the journal is read by filter and in pages`() async throws {
        let phone = try await synced { $0.conflictPolicy = .serverWins }
        for number in 1...3 {
            try await phone.note("a", "mine \(number)", body: "base")
            try cloud.editNote(["title": .string("theirs \(number)")])
            try await phone.sync()
        }
        let all = try phone.engine.conflicts()
        #expect(all.count == 3)
        #expect(all.map(\.sequence) == all.map(\.sequence).sorted(by: >))
        let page = try phone.engine.conflicts(
            matching: RecordConflict.Filter(beforeSequence: all[0].sequence), limit: 1)
        #expect(page == [all[1]])
        func count(_ filter: RecordConflict.Filter) throws -> Int {
            try phone.engine.conflicts(matching: filter).count
        }
        #expect(try count(RecordConflict.Filter(entity: "Note", policy: .serverWins)) == 3)
        #expect(try count(RecordConflict.Filter(policy: .keepBoth)) == 0)
        #expect(try count(RecordConflict.Filter(record: Note.ID("b").recordID)) == 0)
        #expect(try count(RecordConflict.Filter(entity: "Step")) == 0)
    }
}
