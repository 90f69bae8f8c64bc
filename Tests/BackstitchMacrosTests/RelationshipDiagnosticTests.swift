import TestBudget
import Testing

@Suite(.budgeted) struct RelationshipDiagnosticTests {
    @Test func `a delete rule stands at a reference`() {
        let member = Member("@Relationship(onDelete: .cascade) var name: String?")
        #expect(
            member.reports == [
                "3:5 'onDelete' is for references to other records. 'String?' is none: write the ID "
                    + "of an entity, such as 'Department.ID?', or remove the rule."
            ])
        #expect(
            member.fixes == ["remove '@Relationship(onDelete: .cascade)'": "var name: String?"])
    }

    @Test(arguments: ["Department.ID", "EntityID<Department>", "ID"])
    func `a reference that can't become nil needs a rule`(type: String) {
        let member = Member("var target: \(type)")
        #expect(
            member.reports == [
                "3:17 Deleting the target would set this reference to nil, which '\(type)' can't "
                    + "be. Write '\(type)?', or say what happens with "
                    + "'@Relationship(onDelete: .cascade)', '.deny' or '.noAction'."
            ])
        #expect(
            member.fixes == [
                "replace '\(type)' with '\(type)?'": "var target: \(type)?",
                "add '@Relationship(onDelete: .deny)'":
                    "@Relationship(onDelete: .deny) var target: \(type)",
            ])
    }

    @Test func `a reference that is made nil is optional`() {
        let member = Member("@Relationship(onDelete: .nullify) var team: Team.ID")
        #expect(
            member.reports == [
                "3:29 '.nullify' sets the reference to nil, which 'Team.ID' can't be. Write "
                    + "'Team.ID?', or choose .cascade, .deny or .noAction."
            ])
        #expect(
            member.fixes == [
                "replace 'Team.ID' with 'Team.ID?'":
                    "@Relationship(onDelete: .nullify) var team: Team.ID?",
                "choose '.deny'": "@Relationship(onDelete: .deny) var team: Team.ID",
            ])
    }

    @Test(arguments: [
        "var team: Team.ID?", "var team: Optional<Team.ID>",
        "@Relationship(onDelete: .nullify) var team: Team.ID?",
        "@Relationship(onDelete: .deny) var team: Team.ID",
        "@Backstitch.Relationship(onDelete: AttributeSchema.DeleteRule.cascade) var team: EntityID<Team>",
    ])
    func `references with a rule that fits are fine`(property: String) {
        #expect(Member(property).reports.isEmpty)
    }

    @Test func `an inverse stands at a ToMany`() {
        let member = Member("@Relationship(inverse: \\Person.team) var members: [Person]")
        #expect(member.reports.first?.hasPrefix("3:55 'inverse' is for to-many") == true)
        #expect(
            Member("@Relationship(inverse: \\Person.team) var member: Person.ID?").reports == [
                "3:54 'inverse' is for to-many relationships. Write the type 'ToMany<…>', with the "
                    + "entity whose records point here."
            ])
    }

    @Test func `a ToMany needs its inverse`() {
        #expect(
            Member("var members: ToMany<Person>").reports == [
                "3:18 A ToMany holds no records: say which reference points back, as in "
                    + "'@Relationship(inverse: \\Person.owner)'."
            ])
    }

    @Test func `a ToMany has no value`() {
        let member = Member(
            "@Relationship(inverse: \\Person.team) var members: ToMany<Person> = make()")
        #expect(member.reports == ["3:70 A ToMany is computed. Remove the initial value."])
        #expect(
            member.fixes == [
                "remove the initial value":
                    "@Relationship(inverse: \\Person.team) var members: ToMany<Person>"
            ])
    }

    @Test func `a ToMany is a variable`() {
        let member = Member("@Relationship(inverse: \\Person.team) let members: ToMany<Person>")
        #expect(member.reports == ["3:42 A ToMany is computed. Declare it with 'var'."])
        #expect(
            member.fixes == [
                "replace 'let' with 'var'":
                    "@Relationship(inverse: \\Person.team) var members: ToMany<Person>"
            ])
    }

    @Test func `a ToMany has no delete rule`() {
        let member = Member("@Relationship(onDelete: .cascade) var members: ToMany<Person>")
        #expect(
            member.reports == [
                "3:5 The delete rule belongs to the other side. Write '@Relationship(onDelete:)' at "
                    + "the reference that points back."
            ])
    }

    @Test func `a ToMany is not marked as an attribute`() {
        let member = Member(
            "@Attribute(.indexed) @Relationship(inverse: \\Person.team) var all: ToMany<Person>")
        #expect(member.reports == ["3:5 'all' is not stored in a record. Remove '@Attribute'."])
    }

    @Test func `an inverse is a reference of the entity at the other end`() {
        #expect(
            Member("@Relationship(inverse: \\Team.lead) var members: ToMany<Person>").reports == [
                "3:29 The records of this relationship are of the entity 'Person', so its inverse "
                    + "can't be an attribute of 'Team'. Write a key path that starts with '\\Person'."
            ])
        #expect(
            Member("@Relationship(inverse: \\.team) var members: ToMany<Person>").reports == [
                "3:28 Write the inverse as a key path that starts with the entity, as in "
                    + "'\\Person.owner'."
            ])
        let nested = "@Relationship(inverse: \\Club.Person.team) var members: ToMany<Club.Person>"
        #expect(Member(nested).reports.isEmpty)
    }

    @Test(arguments: [
        "@Attribute(.indexed) var name: String", "@Relationship(onDelete: .deny) var team: Team.ID",
        "@Relationship(inverse: \\Person.team) var members: ToMany<Person>",
    ])
    func `outside an entity the marks do nothing`(property: String) {
        let expansion = Expansion("struct Plain {\n    \(property)\n}")
        #expect(expansion.reports.isEmpty)
        #expect(!expansion.text.contains("get {"))
    }
}
