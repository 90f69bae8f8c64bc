import BackstitchCore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

/// Histories of three devices and a service that shares no code with the product's simulation, with all
/// policies for conflicts and deletes. Each value that is ever saved is at the end on all devices, or a
/// later save that saw it replaced it, or a conflict journal has it; one that was replaced comes back by
/// a conflict only; and each conflict of a journal ended as the guide says.
///
/// `MODEL_RUNS` runs more of them, `MODEL_FROM` says the number of the first. A number gives the same
/// history each time, and a single one is printed if something is wrong with it.
@Suite(.budgeted) struct IndependentModelTests {
    private static let first = Load.count("MODEL_FROM", else: 0)
    private static let runs = first..<(first + Load.count("MODEL_RUNS", else: 20))

    @Test(arguments: ConflictPolicy.allCases)
    func `nothing that was saved is lost without a word`(policy: ConflictPolicy) async throws {
        var troubles: Set<Trouble> = []
        var meetings: Set<ModelWorld.Meeting> = []
        var endings: Set<ModelWorld.Ending> = []
        var count = 0
        for number in Self.runs {
            let world = ModelWorld(number, isTold: Self.runs.count == 1)
            guard world.words.policy == policy else { continue }
            let again = "MODEL_FROM=\(number) MODEL_RUNS=1 runs it again"
            do {
                let found = try await world.run()
                if !found.isEmpty { await print(world.story.joined(separator: "\n")) }
                #expect(found == [], "\(again)")
            } catch {
                Issue.record("\(error); \(again)")
            }
            troubles.formUnion(await world.troubles)
            meetings.formUnion(await world.meetings)
            endings.formUnion(await world.endings)
            count += 1
        }
        // A few histories meet everything that can happen in one.
        if count >= 20 {
            #expect(Set(Trouble.allCases).subtracting(troubles) == [])
            #expect(Set(ModelWorld.Meeting.allCases).subtracting(meetings) == [])
            #expect(Set(ModelWorld.Ending.allCases).subtracting(endings) == [])
        }
    }

    @Test func `a value that went without a word is noticed`() async throws {
        let world = ModelWorld(0)
        await world.claim("t0")
        let found = try await world.run()
        #expect(found == ["gone without a word: [\"t0\"]"])
    }

    @Test func `an end that the policy does not say is noticed`() async throws {
        let cloud = SimulatedCloud()
        let phone = try await Device.withBase(cloud) { $0.conflictPolicy = .serverWins }
        try await phone.note("a", "mine", body: "mine")
        try cloud.editNote(["title": .string("theirs")])
        try await phone.sync()
        let conflict = try #require(try phone.engine.conflicts().first)
        func isRight(_ policy: ConflictPolicy) -> Bool {
            PolicyWords(policy: policy, deletePolicy: .followPolicy).isRight(conflict)
        }
        #expect(isRight(.serverWins))
        #expect(isRight(.lastWriterWins))
        #expect(!isRight(.clientWins))
        #expect(!isRight(.keepBoth))
        // The body was changed here only.
        #expect(!isRight(.merge(otherwise: .serverWins)))
    }

    @Test func `the model's service keeps what engines rely on`() {
        let cloud = PlainCloud()
        cloud.makeZone()
        let create = RecordModification.create(
            recordName: "a", recordType: "Sheet", fields: ["title": .string("one")])
        let results = cloud.modify(
            [create, create], atomic: false, refused: [:], tellsRecords: true)
        guard case .saved(let tag, _)? = results.first, case .failed(let error)? = results.last
        else {
            Issue.record("the first one is saved, and the second one refused: \(results)")
            return
        }
        #expect(error.code == .alreadyExists && error.serverRecord?.changeTag == tag)
        let page = cloud.page(since: nil, limit: 1, repeated: 0, isEmpty: false)
        #expect(page?.records.map(\.changeTag) == [tag] && page?.moreComing == false)
        // Told again on request, and not after the token otherwise.
        let again = cloud.page(since: page?.token, limit: 2, repeated: 1, isEmpty: false)
        #expect(again?.records.count == 1)
        let after = cloud.page(since: page?.token, limit: 2, repeated: 0, isEmpty: false)
        #expect(after?.records == [])
        cloud.expireTokens()
        #expect(cloud.page(since: page?.token, limit: 1, repeated: 0, isEmpty: false) == nil)
        cloud.lose("a")
        #expect(cloud.records.isEmpty)
    }
}
