import Backstitch
import TestBudget
import Testing

@Entity struct LinkTestPerson {
    var id = ID()
}

@Entity struct LinkTestTeam {
    var id = ID()
}

@Entity struct LinkTestMembership {
    var id = ID()
    var person: LinkTestPerson.ID?
    var team: LinkTestTeam.ID?
}

@Entity struct LinkTestGuest {
    var id = ID()
}

@Suite(.budgeted) struct LinkIDTests {
    private typealias Link = LinkTestMembership.ID

    private func link(_ from: String, _ to: String) -> Link {
        Link(linking: LinkTestPerson.ID(from), to: LinkTestTeam.ID(to))
    }

    @Test func `the same ends give the same id, others another`() {
        #expect(link("ada", "red").description == "LinkTestMembership-3-ada-red")
        #expect(link("ada", "red") == link("ada", "red"))
        let all = [
            link("ada", "red"), link("red", "ada"), link("ada-r", "ed"), link("ada", "r-ed"),
            link("a", "da-red"), link("1-a", "b"), link("1", "a-b"),
        ]
        #expect(Set(all).count == all.count)
    }

    @Test func `links of two entities between the same ends are two records`() {
        let guest = LinkTestGuest.ID(linking: LinkTestPerson.ID("ada"), to: LinkTestTeam.ID("red"))
        #expect(guest.key != link("ada", "red").key)
    }

    @Test func `long names are hashed and stay possible`() {
        let long = String(repeating: "é", count: 120)
        let ids = [link(long, "a"), link(long, "b"), link("a", long), link(long, long)]
        #expect(Set(ids).count == 4)
        for id in ids { #expect(id.description.utf8.count <= 255) }
        #expect(link(long, "a") == link(long, "a"))
        #expect(link(long, "a").description.hasPrefix("LinkTestMembership-"))
    }

    @Test func `links that devices add at once are one record`() throws {
        let store = try Store.inMemory(
            schema: StoreSchema(LinkTestPerson.self, LinkTestTeam.self, LinkTestMembership.self))
        let (ada, red) = (LinkTestPerson(), LinkTestTeam())
        let membership = LinkTestMembership(
            id: .init(linking: ada.id, to: red.id), person: ada.id, team: red.id)
        try store.write { transaction in
            try transaction.save(ada)
            try transaction.save(red)
            try transaction.save(membership)
            try transaction.save(membership)
        }
        #expect(try store.read { try $0.fetch(LinkTestMembership.self).count } == 1)
        #expect(
            try store.write { try $0.delete(LinkTestMembership.ID(linking: ada.id, to: red.id)) })
    }
}
