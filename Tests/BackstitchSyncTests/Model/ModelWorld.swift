import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Threading

/// Three devices and a plain service: a history that follows from a number, and what is wrong at its end.
///
/// The number says the policies too. Nothing runs beside anything else but what is done within a
/// request, so that a number always gives the same history.
actor ModelWorld {
    private struct Member {
        let store: Store
        let connection: PlainConnection
        let clock: ManualClock
        var engine: SyncEngine
    }

    /// What is done while a request is under way.
    enum Meeting: CaseIterable, Sendable {
        case editsHere, editsElsewhere, otherDevice, secondEngine, replacedEngine, compaction
    }

    /// Which sides of a conflict of a journal had the record.
    enum Ending: CaseIterable, Sendable {
        case edited, deletedHere, deletedThere
    }

    private static let stepsMax = 50
    private static let turnsMax = 60
    private static let schema = StoreSchema(Sheet.self)

    let words: PolicyWords
    private let cloud = PlainCloud()
    private let ledger = TokenLedger()
    private let isDecided = Locked(false)
    private var generator: SeededGenerator
    private var members: [Member] = []
    private var isSettling = false
    private var problems: [String] = []
    private(set) var meetings: Set<Meeting> = []
    private(set) var endings: Set<Ending> = []
    /// The records of the service and of each device after each step; empty unless the history is told.
    private(set) var story: [String] = []
    private let isTold: Bool

    /// - Parameter isTold: Whether the history is told step by step.
    init(_ number: Int, isTold: Bool = false) {
        self.isTold = isTold
        let policies = ConflictPolicy.allCases
        let deletePolicies = ConflictRules.DeletePolicy.allCases
        words = PolicyWords(
            policy: policies[number % policies.count],
            deletePolicy: deletePolicies[number / policies.count % deletePolicies.count])
        generator = SeededGenerator(seed: UInt64(number))
    }

    /// The troubles that requests met.
    var troubles: Set<Trouble> {
        members.reduce(into: []) { $0.formUnion($1.connection.met) }
    }

    /// Says that a value was saved which never was.
    func claim(_ token: String) { ledger.note(token) }

    /// Runs the history.
    ///
    /// - Returns: What is wrong; empty if nothing is.
    func run() async throws -> [String] {
        for _ in 0..<3 { members.append(try newMember()) }
        for number in 0..<Self.stepsMax {
            try await step()
            try tell("\(number)")
        }
        try await settle()
        try await judge()
        for member in members { await member.engine.stop() }
        return problems
    }

    private func tell(_ what: String) throws {
        guard isTold else { return }
        let contents = try [cloud.records] + members.map { try $0.store.sheets() }
        let texts = contents.map { records in
            records.sorted { $0.key < $1.key }
                .map { "\($0.key) \($0.value.sorted { $0.key < $1.key }.map(\.value))" }
                .joined(separator: ", ")
        }
        story.append("\(what)\n  " + texts.joined(separator: "\n  "))
    }

    // MARK: Steps

    private func roll(_ count: Int) -> Int { Int(generator.next() % UInt64(count)) }

    private func newMember() throws -> Member {
        let clock = ManualClock()
        let store = try Store.inMemory(
            schema: Self.schema, configuration: StoreConfiguration(clock: clock))
        let connection = PlainConnection(cloud, seed: generator.next())
        return Member(
            store: store, connection: connection, clock: clock,
            engine: newEngine(store, connection, clock))
    }

    private func newEngine(
        _ store: Store, _ connection: PlainConnection, _ clock: ManualClock
    ) -> SyncEngine {
        struct Undecided: Error {}
        return SyncEngine(
            store: store, service: connection,
            configuration: SyncConfiguration(
                zoneName: PlainConnection.zone.zoneName, conflictPolicy: words.policy,
                deletePolicy: words.deletePolicy,
                conflictResolver: { [isDecided] conflict in
                    if PolicyWords.isHard(conflict), !isDecided.withLock({ $0 }) {
                        throw Undecided()
                    }
                    return PolicyWords.answer(to: conflict)
                },
                resolverTimeout: nil, syncOnSave: false, atomicRequests: roll(3) == 0,
                recordsPerPass: roll(2) == 0 ? 3 : 10_000, clock: clock))
    }

    private func anotherEngine(of index: Int) -> SyncEngine {
        let member = members[index]
        return newEngine(member.store, member.connection, member.clock)
    }

    private func step() async throws {
        let index = roll(members.count)
        members[index].clock.advance(milliseconds: Int64(roll(4_000)))
        cloud.advance(milliseconds: Int64(roll(4_000)))
        let lot = roll(20)
        try tell("device \(index), \(lot)")
        switch lot {
        case 0..<9: for _ in 0...roll(3) { try await edit(index) }
        case 9..<12: try await exchange(index)
        case 12..<16: try await exchangeInterrupted(index)
        case 16: try await members[index].engine.retryParked()
        case 17: try await undo(index)
        case 18: try await members[index].store.compact(.keepUnsyncedOnly)
        default:
            await members[index].engine.stop()
            members[index].engine = anotherEngine(of: index)
        }
    }

    /// Saves or deletes one of the records that are here, or of a few names.
    private func edit(_ index: Int) async throws {
        let store = members[index].store
        let known = try store.sheets().keys.sorted()
        let isNamed = known.isEmpty || roll(3) == 0
        let id = Sheet.ID(isNamed ? "s\(roll(4))" : known[roll(known.count)])
        let isDelete = roll(5) == 0
        let changes = 1 + roll(7)
        let clearsBody = roll(4) == 0
        let values = (0..<3).map { _ in ledger.token() }
        try await ledger.write(to: store) { transaction in
            if isDelete {
                _ = try transaction.delete(id)
                return
            }
            var sheet =
                try transaction.find(Sheet.self, id) ?? Sheet(id: id, title: values[0])
            if changes & 1 != 0 { sheet.title = values[0] }
            if changes & 2 != 0 { sheet.body = clearsBody ? nil : values[1] }
            if changes & 4 != 0 { sheet.tail = values[2] }
            _ = try transaction.save(sheet)
        }
    }

    /// Brings back what one of the latest conflicts took.
    private func undo(_ index: Int) async throws {
        let engine = members[index].engine
        let latest = try engine.conflicts(limit: 5)
        guard !latest.isEmpty else { return }
        let sequence = latest[roll(latest.count)].sequence
        try await ledger.write(to: members[index].store) { _ = try $0.undoConflict(sequence) }
    }

    /// Runs a round, which troubles may end early.
    private func exchange(_ index: Int) async throws {
        let engine = members[index].engine
        do {
            try await engine.sync()
        } catch let error as SyncError where error.code == .stopped {
            // It was replaced within one of its requests.
            if isSettling { throw error }
        } catch let error as SyncError where error.code == .unreachable {
            if isSettling { throw error }
        }
        await engine.untilEnded()
    }

    /// Runs a round in which something is done while a request is under way.
    private func exchangeInterrupted(_ index: Int) async throws {
        let connection = members[index].connection
        connection.interrupt(after: roll(6), isDone: roll(2) == 0) { await self.meet(index) }
        try await exchange(index)
        connection.endInterruption()
    }

    private func meet(_ index: Int) async {
        let meeting = Meeting.allCases[roll(Meeting.allCases.count)]
        meetings.insert(meeting)
        if isTold { story.append("within a request of device \(index): \(meeting)") }
        let other = (index + 1 + roll(members.count - 1)) % members.count
        do {
            switch meeting {
            case .editsHere: for _ in 0...roll(3) { try await edit(index) }
            case .editsElsewhere:
                try await edit(other)
                try await exchange(other)
            case .otherDevice: try await exchange(other)
            case .secondEngine: try await tryAnotherEngine(of: index)
            case .replacedEngine:
                members[index].connection.endEngine()
                await members[index].engine.stop()
                members[index].engine = anotherEngine(of: index)
                try await exchange(index)
            case .compaction: try await members[index].store.compact(.keepUnsyncedOnly)
            }
        } catch {
            problems.append("within a request, \(meeting): \(error)")
        }
    }

    /// One store is exchanged by one engine at a time.
    private func tryAnotherEngine(of index: Int) async throws {
        let second = anotherEngine(of: index)
        do {
            try await second.sync()
            problems.append("two engines exchanged one store")
        } catch let error as SyncError where error.code == .standby {
            await second.stop()
        }
    }

    // MARK: The end

    /// Exchanges without troubles until nothing changes in two turns.
    private func settle() async throws {
        isSettling = true
        isDecided.withLock { $0 = true }
        for member in members { member.connection.calm() }
        var (turns, quiet) = (0, 0)
        while quiet < 2, turns < Self.turnsMax {
            let before = try heads()
            for index in members.indices {
                try await members[index].engine.retryParked()
                try await exchange(index)
            }
            turns += 1
            quiet = try heads() == before ? quiet + 1 : 0
        }
        if quiet < 2 { problems.append("the devices still change in turn \(turns)") }
    }

    private func heads() throws -> [UInt64] {
        try members.map { member in try member.store.read { try $0.lastSequence } }
    }

    private func judge() async throws {
        let records = cloud.records
        let fresh = try newMember()
        fresh.connection.calm()
        try await fresh.engine.sync()
        for (index, member) in (members + [fresh]).enumerated() {
            let name = index < members.count ? "device \(index)" : "a new device"
            if try member.store.sheets() != records {
                problems.append("\(name) has other records than the service")
            }
            if try member.engine.pending().pendingRecords > 0 {
                problems.append("\(name) has records that wait")
            }
            let parked = try member.engine.parked()
            if !parked.isEmpty { problems.append("\(name) has parked \(parked)") }
            problems += try member.store.verify().problems
        }
        await fresh.engine.stop()
        var journals: [RecordConflict] = []
        for member in members { journals += try member.engine.conflicts() }
        for conflict in journals where conflict.policy != words.policy || !words.isRight(conflict) {
            problems.append("it ended against the policy: \(conflict)")
        }
        endings = Set(
            journals.map { conflict in
                conflict.local == nil
                    ? .deletedHere : conflict.server == nil ? .deletedThere : .edited
            })
        let lost = ledger.lost(present: records, journals: journals)
        // A record of which nobody heard that it was created comes back if it was deleted between the pull
        // and the push of a round, if the request arrives after the deletion that ended it here, or if only a list of all records lacks it: a service that keeps no
        // count of lives can't be asked whether it had the record. An end by the feed is in a journal.
        let unheard = members.reduce(into: Set()) { $0.formUnion($1.connection.unheardCreates) }
        let returned = ledger.returned(
            present: records.filter { !unheard.contains($0.key) }, journals: journals)
        if !lost.isEmpty { problems.append("gone without a word: \(lost)") }
        if !returned.isEmpty { problems.append("back without a word: \(returned)") }
    }
}
