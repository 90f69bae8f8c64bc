import TestBudget
import Testing

@testable import BackstitchCore

/// Every case of the design's table, written out by hand, and properties over all of them.
@Suite(.budgeted) struct MergeTests {
    typealias Case = MergeCase

    static func merge(_ policy: ConflictPolicy) -> Merge {
        Merge(rules: MergeRules(policy), knownFields: [Case.one, Case.two])
    }

    static func plan(
        _ policy: ConflictPolicy, _ local: Case.Local, _ server: Case.Server
    ) -> MergePlan? {
        guard let mine = local.state, let theirs = server.state(local) else { return nil }
        return merge(policy).plan(local: mine, server: theirs)
    }

    /// What the table says, in short: what is acknowledged through which sequence, what is adopted,
    /// what is pushed again, and whether there is a conflict.
    enum Outcome: Equatable {
        case nothing
        case acknowledge(UInt64)
        case adopt
        /// The service's version stands, and something local is in the journal.
        case serverStands
        /// The local version is pushed on top of the service's.
        case localStands
    }

    static func table(
        _ policy: ConflictPolicy, _ local: Case.Local, _ server: Case.Server
    ) -> Outcome {
        let conflict: Outcome = policy == .serverWins ? .serverStands : .localStands
        switch (local, server) {
        case (_, .sameTag), (_, .older): return .nothing
        case (_, .sameContent): return .acknowledge(0)
        case (.none, .editOne), (.none, .editTwo), (.none, .gone): return .adopt
        case (_, .editOne), (_, .editTwo): return conflict
        case (.updateOne, .gone), (.updateTwo, .gone): return conflict
        case (.delete, .gone), (.recreate, .gone): return .acknowledge(11)
        case (.create, .gone): return .nothing
        case (.delete, .ownWrite): return .acknowledge(11)
        case (_, .ownWrite): return .acknowledge(12)
        case (_, .ownPrefix): return .acknowledge(11)
        }
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins], Case.Local.allCases)
    func `each case ends as the table says`(policy: ConflictPolicy, local: Case.Local) throws {
        for server in Case.Server.allCases {
            guard let plan = Self.plan(policy, local, server),
                let mine = local.state, let theirs = server.state(local)
            else { continue }
            let context = Comment(rawValue: "\(policy) \(local) \(server)")
            let adopt = MergePlan.Remote.adopt(
                version: theirs.version, fields: theirs.fields, through: 0)
            switch Self.table(policy, local, server) {
            case .nothing:
                #expect(plan == MergePlan(remote: .nothing), context)
            case .acknowledge(let through):
                let remote = MergePlan.Remote.acknowledge(version: theirs.version, through: through)
                #expect(plan == MergePlan(remote: remote), context)
            case .adopt:
                #expect(plan == MergePlan(remote: adopt), context)
            case .serverStands:
                let report = ConflictReport(
                    policy: policy, base: mine.version == nil ? nil : Case.base,
                    local: mine.fields, server: theirs.fields, outcome: theirs.fields)
                #expect(plan == MergePlan(remote: adopt, conflict: report), context)
            case .localStands:
                var outcome = mine.fields
                if outcome != nil, let fields = theirs.fields {
                    outcome?[Case.unknown] = fields[Case.unknown]
                }
                let report = ConflictReport(
                    policy: policy, base: mine.version == nil ? nil : Case.base,
                    local: mine.fields, server: theirs.fields, outcome: outcome)
                let rebase = outcome.map { MergePlan.Rebase.save($0) } ?? .delete
                #expect(
                    plan == MergePlan(remote: adopt, rebase: rebase, conflict: report), context)
            }
        }
    }

    @Test func `a record that is not here is taken over, and its end is no news`() {
        for policy in ConflictPolicy.allCases {
            let nobody = LocalState(fields: nil, version: nil, unsynced: [])
            let merge = Self.merge(policy)
            #expect(merge.plan(local: nobody, server: .absent) == MergePlan(remote: .nothing))
            let plan = merge.plan(
                local: nobody, server: Case.present(Case.newVersion, Case.base))
            #expect(
                plan
                    == MergePlan(
                        remote: .adopt(version: Case.newVersion, fields: Case.base, through: 0)))
        }
    }

    @Test func `the end of a record whose create was sent is a conflict without a base`() throws {
        for policy in ConflictPolicy.allCases where policy.innermost != .resolver {
            var local = try #require(Case.Local.create.state)
            let merge = Self.merge(policy)
            #expect(merge.plan(local: local, server: .absent) == MergePlan(remote: .nothing))
            local.isSent = true
            let plan = merge.plan(local: local, server: .absent)
            #expect(plan.remote == .adopt(version: nil, fields: nil, through: 0))
            #expect(plan.conflict?.local == local.fields)
            #expect(plan.conflict?.base == nil && plan.conflict?.server == nil)
            local.fields = nil
            #expect(merge.plan(local: local, server: .absent) == MergePlan(remote: .nothing))
        }
    }

    @Test func `the end of a record that was made anew and sent is a conflict`() throws {
        var local = try #require(Case.Local.recreate.state)
        let kept = MergePlan.Remote.acknowledge(version: nil, through: 11)
        let ended = MergePlan.Remote.adopt(version: nil, fields: nil, through: 0)
        func plan(_ policy: ConflictPolicy) -> MergePlan {
            Self.merge(policy).plan(local: local, server: .absent)
        }
        func report(_ policy: ConflictPolicy, _ outcome: Fields?) -> ConflictReport {
            ConflictReport(
                policy: policy, base: Case.base, local: local.fields, server: nil, outcome: outcome)
        }
        for policy in ConflictPolicy.allCases {
            #expect(plan(policy) == MergePlan(remote: kept), "\(policy)")
        }
        local.isSent = true
        #expect(
            plan(.serverWins) == MergePlan(remote: ended, conflict: report(.serverWins, nil)))
        #expect(
            plan(.clientWins)
                == MergePlan(
                    remote: ended, rebase: .save(Case.recreated),
                    conflict: report(.clientWins, Case.recreated)))
        let question = try #require(plan(.resolver).question)
        #expect(question.base == Case.base && question.server == nil)
        #expect(question.local == Case.recreated)
        // It is decided about though it became what it was before the delete.
        let before: Fields = [Case.one: .string("r"), Case.two: .null, Case.unknown: .null]
        local.unsynced.append(Case.step(13, .update(before: before, after: Case.base)))
        local.fields = Case.base
        #expect(
            plan(.serverWins) == MergePlan(remote: ended, conflict: report(.serverWins, nil)))
        // A record that was deleted here too has ended.
        local.unsynced.append(Case.step(14, .delete(before: Case.base)))
        local.fields = nil
        #expect(
            plan(.clientWins) == MergePlan(remote: .acknowledge(version: nil, through: 14)))
    }

    @Test func `our own write with a foreign edit on top of it is taken over whole`() throws {
        for policy in ConflictPolicy.allCases {
            let local = try #require(Case.Local.updateOne.state)
            let server = Case.with(Case.with(Case.base, Case.one, "l2"), Case.two, "s")
            let plan = Self.merge(policy).plan(
                local: local, server: Case.present(Case.newVersion, server))
            #expect(
                plan
                    == MergePlan(
                        remote: .adopt(version: Case.newVersion, fields: server, through: 12)))
        }
    }

    @Test func `fields that were not asked for keep the values of the base`() throws {
        let local = try #require(Case.Local.none.state)
        let plan = Self.merge(.serverWins).plan(
            local: local,
            server: .present(
                stamp: Case.newVersion, fields: [Case.one: .string("s")], requested: [Case.one]))
        let expected = Case.with(Case.base, Case.one, "s")
        #expect(
            plan
                == MergePlan(
                    remote: .adopt(version: Case.newVersion, fields: expected, through: 0)))
    }

    @Test func `values that the service can't tell apart are the same`() throws {
        var local = try #require(Case.Local.none.state)
        local.fields?[Case.one] = .int64(1)
        var server = Case.base
        server[Case.one] = .double(1)
        let merge = Merge(rules: MergeRules(.serverWins), knownFields: [Case.one]) {
            _, first, second in
            first == second || Set([first, second]) == Set([.int64(1), .double(1)])
        }
        #expect(
            merge.plan(local: local, server: Case.present(Case.newVersion, server))
                == MergePlan(remote: .acknowledge(version: Case.newVersion, through: 0)))
    }
}
