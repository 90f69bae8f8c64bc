import TestBudget
import Testing

@testable import BackstitchCore

@Suite(.budgeted) struct MergePropertyTests {
    typealias Case = MergeCase

    /// All cases, each with what came of it.
    private func forEach(
        _ body: (ConflictPolicy, LocalState, ServerState, MergePlan, Comment) throws -> Void
    ) rethrows {
        for policy in ConflictPolicy.allCases {
            for local in Case.Local.allCases {
                for server in Case.Server.allCases {
                    guard let mine = local.state, let theirs = server.state(local),
                        let plan = MergeTests.plan(policy, local, server), plan.question == nil
                    else { continue }
                    let comment = Comment(rawValue: "\(policy) \(local) \(server)")
                    try body(policy, mine, theirs, plan, comment)
                }
            }
        }
    }

    @Test func `merging the same version again changes nothing`() {
        forEach { policy, local, server, plan, comment in
            let after = plan.applied(to: local)
            let again = MergeTests.merge(policy).plan(local: after, server: server)
            #expect(again == MergePlan(remote: .nothing), comment)
        }
    }

    @Test func `an older version that comes late changes nothing`() {
        forEach { policy, local, server, plan, comment in
            guard server.version == Case.newVersion else { return }
            let after = plan.applied(to: local)
            let late = Case.present(Case.oldVersion, Case.with(Case.base, Case.one, "late"))
            let again = MergeTests.merge(policy).plan(local: after, server: late)
            #expect(again == MergePlan(remote: .nothing), comment)
        }
    }

    @Test func `a version that is skipped makes no difference to the content`() {
        let newest = ServerVersion(changeTag: "t3", modifiedMilliseconds: 300)
        let last = Case.present(newest, Case.with(Case.base, Case.one, "last"))
        // Field by field it does: where the service's value was in the way for a moment only, a
        // device that did not see it has lost nothing. Where somebody is asked, all is theirs.
        for policy in ConflictPolicy.allCases
        where policy.innermost == policy && policy != .resolver {
            for local in [Case.Local.none, .updateOne, .updateTwo, .delete, .recreate, .create] {
                for between in [Case.Server.editOne, .editTwo] {
                    guard let mine = local.state, let first = between.state(local) else { continue }
                    let merge = MergeTests.merge(policy)
                    let stepwise = merge.plan(local: mine, server: first).applied(to: mine)
                    let both = merge.plan(local: stepwise, server: last).applied(to: stepwise)
                    let direct = merge.plan(local: mine, server: last).applied(to: mine)
                    #expect(both.fields == direct.fields, "\(policy) \(local) \(between)")
                    #expect(both.version == direct.version)
                }
            }
        }
    }

    @Test func `no value is lost without a report`() {
        forEach { policy, local, server, plan, comment in
            guard plan.conflict == nil else { return }
            let after = plan.applied(to: local)
            // Local edits that are not on the service yet are still there to be pushed.
            for step in local.unsynced {
                guard case .update(_, let changed) = step.change, step == local.unsynced.last
                else { continue }
                for (field, value) in changed {
                    #expect(after.fields?.value(field) == value, comment)
                }
            }
            // What somebody else wrote on the service is here.
            guard let theirs = server.fields, server.version == Case.newVersion,
                after.unsynced.isEmpty
            else { return }
            #expect(after.fields == theirs, comment)
        }
    }

    @Test func `a report names all sides`() {
        forEach { policy, local, server, plan, comment in
            guard let report = plan.conflict else { return }
            #expect(report.policy == policy, comment)
            #expect(report.local == local.fields, comment)
            #expect(report.server == server.fields, comment)
            #expect(report.outcome == plan.applied(to: local).fields, comment)
        }
    }

    @Test func `unknown fields keep the value of the service`() {
        forEach { policy, local, server, plan, comment in
            guard case .adopt = plan.remote, let theirs = server.fields,
                let fields = plan.applied(to: local).fields
            else { return }
            #expect(fields.value(Case.unknown) == theirs.value(Case.unknown), comment)
        }
    }

    @Test func `the result depends on when the edits were made under one policy only`() {
        forEach { policy, local, server, plan, comment in
            guard policy.innermost != .lastWriterWins else { return }
            var shifted = local
            for index in shifted.unsynced.indices { shifted.unsynced[index].clock = 1 << 50 }
            #expect(
                MergeTests.merge(policy).plan(local: shifted, server: server) == plan, comment)
        }
    }
}
