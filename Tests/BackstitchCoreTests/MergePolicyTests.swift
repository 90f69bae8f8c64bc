import TestBudget
import Testing

@testable import BackstitchCore

/// The policies that look at more than who comes first, by value.
@Suite(.budgeted) struct MergePolicyTests {
    static let (one, two, three, unknown) = (FieldID(1), FieldID(2), FieldID(3), FieldID(9))
    static let base: Fields = [one: .string("1"), two: .string("2"), unknown: .string("u")]
    static let version = ServerVersion(changeTag: "t2", modifiedMilliseconds: 2_000)

    private func fields(_ values: (String, String), unknown: String = "u") -> Fields {
        [
            Self.one: .string(values.0), Self.two: .string(values.1),
            Self.unknown: .string(unknown),
        ]
    }

    /// A record that was synced and is now something else; nil where it was deleted.
    private func local(_ now: Fields?, at milliseconds: UInt64 = 1_000) -> LocalState {
        let change: OperationStep.Change
        if let now {
            var (before, after) = (Fields(), Fields())
            for field in now.differences(from: Self.base) {
                before[field] = Self.base.value(field)
                after[field] = now.value(field)
            }
            change = .update(before: before, after: after)
        } else {
            change = .delete(before: Self.base)
        }
        return LocalState(
            fields: now, version: ServerVersion(changeTag: "t1", modifiedMilliseconds: 1),
            unsynced: [OperationStep(sequence: 5, clock: milliseconds << 16, change: change)],
            name: .text("a"))
    }

    private func plan(
        _ rules: MergeRules, _ mine: Fields?, _ theirs: Fields?, at milliseconds: UInt64 = 1_000,
        answer: ConflictAnswer? = nil
    ) -> MergePlan {
        var merge = Merge(rules: rules, knownFields: [Self.one, Self.two, Self.three])
        merge.answer = answer
        return merge.plan(
            local: local(mine, at: milliseconds),
            server: theirs.map { .present(stamp: Self.version, fields: $0, requested: nil) }
                ?? .absent)
    }

    private func report(
        _ policy: ConflictPolicy, _ mine: Fields?, _ theirs: Fields?, _ outcome: Fields?
    ) -> ConflictReport {
        ConflictReport(
            policy: policy, base: Self.base, local: mine, server: theirs, outcome: outcome)
    }

    private func adopt(_ theirs: Fields?) -> MergePlan.Remote {
        .adopt(version: theirs == nil ? nil : Self.version, fields: theirs, through: 0)
    }

    // MARK: Field by field

    @Test(arguments: ConflictPolicy.allCases)
    func `edits of different fields add up, and nothing is lost`(otherwise: ConflictPolicy) {
        let theirs = fields(("1", "s"), unknown: "new")
        let plan = plan(
            MergeRules(.merge(otherwise: otherwise)), fields(("m", "2")), theirs)
        #expect(plan.remote == adopt(theirs))
        #expect(plan.rebase == .save(fields(("m", "s"), unknown: "new")))
        #expect(plan.conflict == nil && plan.question == nil && plan.copy == nil)
    }

    @Test(arguments: [
        (ConflictRules.FieldPolicy?.none, "s"), (.serverWins, "s"), (.clientWins, "m"),
    ])
    func `the rule of a field decides about that field`(
        rule: ConflictRules.FieldPolicy?, winner: String
    ) {
        var rules = MergeRules(.merge(otherwise: .serverWins))
        rules.fields[Self.one] = rule
        let (mine, theirs) = (fields(("m", "m")), fields(("s", "s")))
        let outcome = fields((winner, "s"))
        var expected = MergePlan(
            remote: adopt(theirs),
            conflict: report(.merge(otherwise: .serverWins), mine, theirs, outcome))
        if winner == "m" { expected.rebase = .save(outcome) }
        #expect(plan(rules, mine, theirs) == expected)
    }

    @Test func `a field that was cleared on one side stays cleared`() {
        let mine: Fields = [Self.two: .string("2"), Self.unknown: .string("u")]
        let plan = plan(MergeRules(.merge(otherwise: .serverWins)), mine, fields(("1", "s")))
        #expect(plan.rebase == .save([Self.two: .string("s"), Self.unknown: .string("u")]))
    }

    @Test func `records that were made on both sides merge without a base`() {
        let mine: Fields = [Self.one: .string("m")]
        let state = LocalState(
            fields: mine, version: nil,
            unsynced: [OperationStep(sequence: 5, change: .insert(mine))])
        let merge = Merge(
            rules: MergeRules(.merge(otherwise: .serverWins)), knownFields: [Self.one, Self.two])
        let theirs: Fields = [Self.two: .string("s")]
        let plan = merge.plan(
            local: state, server: .present(stamp: Self.version, fields: theirs, requested: nil))
        #expect(plan.rebase == .save([Self.one: .string("m"), Self.two: .string("s")]))
        #expect(plan.conflict == nil)
    }

    @Test func `a field that was cleared without a base is not overruled in silence`() {
        let mine: Fields = [Self.one: .string("m")]
        let insert = OperationStep.Change.insert([Self.one: .string("m"), Self.two: .string("x")])
        let clear = OperationStep.Change.update(
            before: [Self.two: .string("x")], after: [Self.two: .null])
        let state = LocalState(
            fields: mine, version: nil,
            unsynced: [
                OperationStep(sequence: 5, change: insert),
                OperationStep(sequence: 6, change: clear),
            ])
        let merge = Merge(
            rules: MergeRules(.merge(otherwise: .serverWins)), knownFields: [Self.one, Self.two])
        let theirs: Fields = [Self.one: .string("m"), Self.two: .string("s")]
        let plan = merge.plan(
            local: state, server: .present(stamp: Self.version, fields: theirs, requested: nil))
        #expect(plan.conflict?.outcome == theirs)
    }

    @Test func `what began on this device alone knows its own create by what it left out`() {
        let kept: Fields = [Self.one: .string("kept")]
        let pushed: Fields = [
            Self.one: .string("kept"), Self.two: .reference(RecordKey(.text("r"))),
        ]
        let state = LocalState(
            fields: pushed, version: nil,
            unsynced: [
                OperationStep(
                    sequence: 7,
                    change: .update(
                        before: [Self.two: .null], after: [Self.two: pushed.value(Self.two)]))
            ])
        let merge = Merge(
            rules: MergeRules(.serverWins), knownFields: [Self.one, Self.two],
            deferrableFields: [Self.two])
        let plan = merge.plan(
            local: state, server: .present(stamp: Self.version, fields: kept, requested: nil))
        #expect(plan.conflict == nil)
        #expect(plan.remote == .adopt(version: Self.version, fields: kept, through: 7))
        #expect(plan.rebase == .save(pushed))
    }

    @Test(arguments: [("s", 7 as UInt64?), ("other", nil)])
    func `an edit is known again beside a field that stays on this device`(
        title: String, through: UInt64?
    ) {
        let state = LocalState(
            fields: fields(("mine", "new")),
            version: ServerVersion(changeTag: "before", modifiedMilliseconds: 1),
            unsynced: [
                OperationStep(
                    sequence: 7,
                    change: .update(
                        before: [Self.two: .string("old")], after: [Self.two: .string("new")]))
            ], kept: [Self.one: .string("s")])
        let merge = Merge(rules: MergeRules(.serverWins), knownFields: [Self.one, Self.two])
        let plan = merge.plan(
            local: state,
            server: .present(
                stamp: Self.version, fields: fields((title, "new")), requested: nil))
        #expect(plan.conflict == nil)
        let isOwn = plan.remote == .acknowledge(version: Self.version, through: 7)
        #expect(isOwn == (through != nil))
    }

    @Test(arguments: [("s", true), ("other", false)])
    func `an edit is known again without its file, in place of one that stays on this device`(
        file: String, isOwn: Bool
    ) {
        let state = LocalState(
            fields: fields(("new", "mine")),
            version: ServerVersion(changeTag: "before", modifiedMilliseconds: 1),
            unsynced: [
                OperationStep(
                    sequence: 7,
                    change: .update(
                        before: [Self.one: .string("old"), Self.two: .string("kept")],
                        after: [Self.one: .string("new"), Self.two: .string("mine")]))
            ], kept: [Self.two: .string("s")])
        let merge = Merge(
            rules: MergeRules(.serverWins), knownFields: [Self.one, Self.two],
            laterFields: [Self.two])
        let plan = merge.plan(
            local: state,
            server: .present(
                stamp: Self.version, fields: fields(("new", file)), requested: nil))
        #expect((plan.conflict == nil) == isOwn)
        let known = MergePlan(
            remote: .adopt(version: Self.version, fields: fields(("new", "kept")), through: 7),
            rebase: .save(fields(("new", "mine"))))
        #expect((plan == known) == isOwn)
    }

    @Test(arguments: [
        (OperationOrigin.rebase, "s", false), (.rebase, "other", true), (.local, "s", true),
    ])
    func `a file that follows an edit leaves the rest to the service, whatever the policy`(
        origin: OperationOrigin, file: String, isConflict: Bool
    ) {
        let state = LocalState(
            fields: fields(("b", "mine")),
            version: ServerVersion(changeTag: "before", modifiedMilliseconds: 1),
            unsynced: [
                OperationStep(
                    sequence: 7,
                    change: .update(
                        before: [Self.two: .string("s")], after: [Self.two: .string("mine")]),
                    origin: origin)
            ])
        let merge = Merge(
            rules: MergeRules(.clientWins), knownFields: [Self.one, Self.two],
            laterFields: [Self.two])
        let plan = merge.plan(
            local: state,
            server: .present(
                stamp: Self.version, fields: fields(("theirs", file)), requested: nil))
        #expect((plan.conflict != nil) == isConflict)
        #expect(plan.rebase == .save(fields((isConflict ? "b" : "theirs", "mine"))))
    }

    @Test func `an own create that comes late is of the life that it was made in`() {
        let first: Fields = [Self.one: .string("new"), Self.two: .string("x")]
        let second: Fields = [Self.one: .string("new")]
        let changes: [OperationStep.Change] = [
            .insert(first), .delete(before: first), .insert(second), .delete(before: second),
        ]
        let state = LocalState(
            fields: nil, version: nil,
            unsynced: changes.enumerated().map { index, change in
                OperationStep(sequence: UInt64(index + 1), change: change)
            })
        let merge = Merge(rules: MergeRules(.clientWins), knownFields: [Self.one, Self.two])
        let plan = merge.plan(
            local: state, server: .present(stamp: Self.version, fields: first, requested: nil))
        #expect(plan == MergePlan(remote: .acknowledge(version: Self.version, through: 1)))
    }

    @Test func `unknown fields of a copy are merged too`() {
        let mine: Fields = [Self.one: .string("m"), Self.unknown: .string("u")]
        let state = LocalState(
            fields: mine, version: nil,
            unsynced: [OperationStep(sequence: 5, change: .insert(mine))])
        let merge = Merge(
            rules: MergeRules(.merge(otherwise: .clientWins)), knownFields: [Self.one, Self.two])
        func plan(_ theirs: Fields) -> MergePlan {
            merge.plan(
                local: state, server: .present(stamp: Self.version, fields: theirs, requested: nil))
        }
        #expect(plan([Self.one: .string("m")]).rebase == .save(mine))
        #expect(plan([Self.one: .string("m")]).conflict == nil)
        let contested: Fields = [Self.one: .string("m"), Self.unknown: .string("s")]
        #expect(plan(contested).conflict?.outcome == contested)
    }

    // MARK: By time

    @Test(arguments: [(UInt64(1_999), false), (2_000, false), (2_001, true)])
    func `the later version stands, and a tie is the service's`(
        milliseconds: UInt64, isMine: Bool
    ) {
        let (mine, theirs) = (fields(("m", "2")), fields(("s", "2")))
        let plan = plan(MergeRules(.lastWriterWins), mine, theirs, at: milliseconds)
        let outcome = isMine ? mine : theirs
        #expect(plan.conflict == report(.lastWriterWins, mine, theirs, outcome))
        #expect(plan.rebase == (isMine ? .save(mine) : .nothing))
        let deleted = self.plan(MergeRules(.lastWriterWins), nil, theirs, at: milliseconds)
        #expect(deleted.rebase == (isMine ? .delete : .nothing))
    }

    @Test func `an edit stands against a delete whose time nobody knows`() {
        let mine = fields(("m", "2"))
        let plan = plan(MergeRules(.lastWriterWins), mine, nil)
        #expect(
            plan
                == MergePlan(
                    remote: adopt(nil), rebase: .save(mine),
                    conflict: report(.lastWriterWins, mine, nil, mine)))
    }

    // MARK: Deletes

    @Test(arguments: ConflictPolicy.allCases)
    func `the policy for deletes comes before the other one`(policy: ConflictPolicy) {
        let edited = fields(("e", "2"))
        let wins = MergeRules(policy, deletePolicy: .deleteWins)
        #expect(
            plan(wins, edited, nil)
                == MergePlan(
                    remote: adopt(nil), conflict: report(policy, edited, nil, nil)))
        #expect(
            plan(wins, nil, edited)
                == MergePlan(
                    remote: adopt(edited), rebase: .delete,
                    conflict: report(policy, nil, edited, nil)))
        let loses = MergeRules(policy, deletePolicy: .editWins)
        #expect(
            plan(loses, edited, nil)
                == MergePlan(
                    remote: adopt(nil), rebase: .save(edited),
                    conflict: report(policy, edited, nil, edited)))
        #expect(
            plan(loses, nil, edited)
                == MergePlan(
                    remote: adopt(edited), conflict: report(policy, nil, edited, edited)))
    }

    // MARK: Both

    @Test func `both versions are kept, the local one as a new record`() throws {
        let (mine, theirs) = (fields(("m", "2")), fields(("s", "2")))
        let plan = plan(MergeRules(.keepBoth), mine, theirs)
        #expect(plan.remote == adopt(theirs))
        #expect(plan.rebase == .nothing)
        #expect(plan.copy == mine)
        let name = try #require(plan.conflict?.copy)
        #expect(self.plan(MergeRules(.keepBoth), mine, theirs).conflict?.copy == name)
        let other = self.plan(MergeRules(.keepBoth), fields(("n", "2")), theirs)
        #expect(other.conflict?.copy != name)
        // A deleted one lives on as the new record; one that was deleted here comes back.
        #expect(self.plan(MergeRules(.keepBoth), mine, nil).copy == mine)
        let restored = self.plan(MergeRules(.keepBoth), nil, theirs)
        #expect(restored.copy == nil && restored.conflict?.outcome == theirs)
        var unique = MergeRules(.keepBoth)
        unique.mayCopy = false
        #expect(self.plan(unique, mine, theirs).copy == nil)
        #expect(self.plan(unique, mine, theirs).conflict?.outcome == theirs)
    }

    // MARK: Asking

    @Test(arguments: [ConflictPolicy.resolver, .merge(otherwise: .resolver)])
    func `without an answer nothing is decided`(policy: ConflictPolicy) {
        let (mine, theirs) = (fields(("m", "2")), fields(("s", "2")))
        let plan = plan(MergeRules(policy), mine, theirs)
        #expect(plan.remote == .nothing && plan.rebase == .nothing && plan.conflict == nil)
        #expect(
            plan.question
                == ConflictQuestion(
                    base: Self.base, local: mine, server: theirs, contested: [Self.one],
                    localMilliseconds: 1_000, serverMilliseconds: 2_000))
    }

    /// Sides of which the first field was changed on both, the second here only, the third there only.
    private var contestedSides: (mine: Fields, theirs: Fields) {
        var theirs = fields(("s", "2"))
        theirs[Self.three] = .string("there")
        return (fields(("m", "here")), theirs)
    }

    /// What a merge makes of these sides.
    private func mergedSides(_ title: String) -> Fields {
        var merged = fields((title, "here"))
        merged[Self.three] = .string("there")
        return merged
    }

    @Test(arguments: [
        (ConflictAnswer.server, "s"), (.client, "m"), (.fields([FieldID(1): .string("r")]), "r"),
        (.fields([FieldID(2): .string("r"), FieldID(3): .null]), "s"),
    ])
    func `an answer to a merge decides the contested fields and no others`(
        answer: ConflictAnswer, title: String
    ) {
        let (mine, theirs) = contestedSides
        let policy = ConflictPolicy.merge(otherwise: .resolver)
        let asked = self.plan(MergeRules(policy), mine, theirs).question
        #expect(asked?.contested == [Self.one])
        let plan = plan(MergeRules(policy), mine, theirs, answer: answer)
        #expect(plan.rebase == .save(mergedSides(title)))
        #expect(plan.conflict == report(policy, mine, theirs, mergedSides(title)))
    }

    @Test(arguments: [ConflictPolicy.keepBoth, .resolver])
    func `a merge keeps two whole versions, or merges where there are no copies`(
        otherwise: ConflictPolicy
    ) {
        let (mine, theirs) = contestedSides
        var rules = MergeRules(.merge(otherwise: otherwise))
        let kept = plan(rules, mine, theirs, answer: .keepBoth)
        #expect(kept.copy == mine && kept.rebase == .nothing)
        rules.mayCopy = false
        let merged = plan(rules, mine, theirs, answer: .keepBoth)
        #expect(merged.copy == nil && merged.rebase == .save(mergedSides("s")))
    }

    @Test func `an application that parks a merge decides nothing`() {
        let (mine, theirs) = contestedSides
        let plan = plan(
            MergeRules(.merge(otherwise: .resolver)), mine, theirs, answer: .park(reason: "why"))
        #expect(plan.parkingReason == "why" && plan.remote == .nothing && plan.rebase == .nothing)
    }

    @Test func `a field with a rule of its own is not asked about`() {
        let (mine, theirs) = contestedSides
        var rules = MergeRules(.merge(otherwise: .resolver))
        rules.fields[Self.one] = .clientWins
        let plan = plan(rules, mine, theirs)
        #expect(plan.question == nil && plan.rebase == .save(mergedSides("m")))
    }

    @Test func `an answer is carried out`() {
        let (mine, theirs) = (fields(("m", "2")), fields(("s", "x"), unknown: "new"))
        func plan(_ answer: ConflictAnswer) -> MergePlan {
            self.plan(MergeRules(.resolver), mine, theirs, answer: answer)
        }
        #expect(plan(.server).conflict?.outcome == theirs)
        #expect(plan(.client).rebase == .save(fields(("m", "2"), unknown: "new")))
        #expect(plan(.keepBoth).copy == mine)
        // Fields that the schema doesn't know are the service's.
        #expect(
            plan(.fields([Self.one: .string("f"), Self.unknown: .string("f")])).rebase
                == .save(fields(("f", "x"), unknown: "new")))
        let parked = plan(.park(reason: "why"))
        #expect(parked.parkingReason == "why" && parked.remote == .nothing)
    }

    // MARK: Stored and spelled

    @Test func `policies keep their codes and names`() throws {
        let codes = ConflictPolicy.allCases.map(\.code)
        #expect(codes == [1, 2, 3, 4, 5, 0x11, 0x12, 0x13, 0x14, 0x15])
        for policy in ConflictPolicy.allCases {
            #expect(ConflictPolicy(code: policy.code) == policy)
            #expect(ConflictPolicy("\(policy)") == policy)
        }
        #expect(ConflictPolicy(code: 0) == nil && ConflictPolicy(code: 0x10) == nil)
        #expect(ConflictPolicy("merge") == nil)
        let nested = ConflictPolicy.merge(otherwise: .merge(otherwise: .keepBoth))
        #expect(nested.code == 0x14 && "\(nested)" == "merge(keepBoth)")
    }

    @Test func `a report with a copy is read as it was written`() throws {
        for copy in [nil, RecordName.text("copy"), .text(String(repeating: "é", count: 127))] {
            var written = report(.keepBoth, Self.base, nil, Self.base)
            written.copy = copy
            var bytes = ByteBuffer(capacity: 64)
            try written.append(to: &bytes)
            #expect(try ConflictReport(reading: bytes.bytes) == written)
            for count in 0..<bytes.count {
                let part = UnsafeRawBufferPointer(rebasing: bytes.bytes[..<count])
                #expect(throws: OperationDamage.self) { _ = try ConflictReport(reading: part) }
            }
        }
    }
}
