import TestBudget
import Testing

@Suite(.budgeted) struct ExpansionTests {
    @Test func `an entity gets its ID, schema and codec`() {
        let expansion = Expansion(
            """
            @Entity struct Employee {
                var id = ID()
                @Attribute(.indexed) var email: String
                @Relationship(onDelete: .cascade) var department: Department.ID?
                var note = "none"
            }
            """)
        #expect(expansion.reports.isEmpty)
        #expect(
            expansion.text == #"""
                struct Employee {
                    var id = ID()
                    var email: String
                    var department: Department.ID?
                    var note = "none"

                    typealias ID = Backstitch.EntityID<Self>

                    static var entityName: String {
                        "Employee"
                    }

                    static let entitySchema = Backstitch.EntitySchema(
                        name: "Employee",
                        attributes: [
                            Backstitch.AttributeSchema("email", String.self, options: [.indexed]),
                            Backstitch.AttributeSchema("department", reference: Department.ID?.self, onDelete: .cascade),
                            Backstitch.AttributeSchema("note", String.self, hasDefault: true, default: "none"),
                        ],
                        toMany: [])

                    @safe nonisolated(unsafe) static let attributeIndexes: [PartialKeyPath<Self>: Int] = [
                        \Self.email: 0,
                        \Self.department: 1,
                        \Self.note: 2,
                    ]

                    @inline(__always) private static func decode(
                        id: Backstitch.EntityID<Self>, fields: inout Backstitch._FieldReader
                    ) throws -> Self {
                        try Self(
                            id: id,
                            email: fields.read(String.self, at: 0),
                            department: fields.read(Department.ID?.self, at: 1),
                            note: fields.read(String.self, at: 2, default: "none"))
                    }

                    func write(to fields: inout Backstitch._FieldWriter) throws {
                        try fields.write(self.email, at: 0)
                        try fields.write(self.department, at: 1)
                        try fields.write(self.note, at: 2)
                    }
                }

                nonisolated extension Employee: Backstitch.Entity {
                    init(id: Backstitch.EntityID<Self>, fields: inout Backstitch._FieldReader) throws {
                        let value = try Self.decode(id: id, fields: &fields)
                        self.init(
                            id: value.id,
                            email: value.email,
                            department: value.department,
                            note: value.note)
                    }
                }
                """#)
    }

    @Test func `a struct with an initialiser of its own is set attribute by attribute`() {
        let text = Expansion(
            """
            @Entity("Person") public struct Employee {
                public let id: ID
                public let name: String
                private var note: String? = "new"
                public init(name: String) { self.name = name }
            }
            """
        ).text
        #expect(
            text.contains(
                """
                    public init(id: Backstitch.EntityID<Self>, fields: inout Backstitch._FieldReader) throws {
                        self.id = id
                        self.name = try fields.read(String.self, at: 0)
                        self.note = try fields.read(String?.self, at: 1)
                    }
                """))
        #expect(text.contains("public typealias ID = Backstitch.EntityID<Self>"))
        #expect(text.contains("public static var entityName: String {\n        \"Person\"\n    }"))
        #expect(text.contains("public static let entitySchema"))
        #expect(text.contains("@safe public nonisolated(unsafe) static let attributeIndexes"))
        #expect(text.contains("public func write(to fields: inout Backstitch._FieldWriter) throws"))
        #expect(text.hasSuffix("nonisolated extension Employee: Backstitch.Entity {\n}"))
    }

    @Test func `a to-many becomes computed and part of the schema`() {
        let text = Expansion(
            """
            @Entity struct Team {
                let id: ID
                @Relationship(inverse: \\Person.team) var members: ToMany<Person>
            }
            """
        ).text
        #expect(
            text.contains(
                "@Backstitch._Inverse(#\"\\Person.team\"#) var members: ToMany<Person>"))
        #expect(
            text.contains(
                """
                        attributes: [],
                        toMany: [
                            Backstitch._ToManySchema("members", at: \\Self.members, inverse: \\Person.team),
                        ])
                """))
        #expect(text.contains("attributeIndexes: [PartialKeyPath<Self>: Int] = [:]"))
        #expect(text.contains("        Self(\n            id: id)"))
    }

    @Test func `an inverse is a query by the identity`() {
        let text = Expansion("@_Inverse(#\"\\Person.team\"#) var members: ToMany<Person>").text
        #expect(
            text == """
                var members: ToMany<Person> {
                    get {
                        Backstitch.ToMany(owner: self.id, inverse: \\Person.team)
                    }
                }
                """)
    }

    @Test func `only stored properties of values are attributes`() {
        let text = Expansion(
            """
            @Entity struct Note {
                static let limit = 10
                var first, second: Int
                var `default`: String { didSet { count += 1 } }
                var short: String { String(`default`.prefix(1)) }
                var title: String { get { `default` } set { `default` = newValue } }
                var id = ID()
                var kind: Kind
                func count() -> Int { 1 }
            }
            """
        ).text
        #expect(
            text.contains(
                """
                            first: fields.read(Int.self, at: 0),
                            second: fields.read(Int.self, at: 1),
                            default: fields.read(String.self, at: 2),
                            id: id,
                            kind: fields.read(Kind.self, at: 3))
                """))
        #expect(text.contains("try fields.write(self.`default`, at: 2)"))
        #expect(text.contains("\\Self.`default`: 2"))
        #expect(text.contains("Backstitch.AttributeSchema(\"default\", String.self)"))
    }

    @Test func `only a literal default is part of the schema`() {
        let text = Expansion(
            """
            @Entity struct Note {
                var id = ID()
                var price: Decimal = -1.5
                var made: Date = .now
                var text = "\\(1)"
                var tag: String? = "new"
            }
            """
        ).text
        #expect(text.contains("(\"price\", Decimal.self, hasDefault: true, default: -1.5)"))
        #expect(text.contains("(\"made\", Date.self, hasDefault: true)"))
        #expect(text.contains("(\"text\", String.self, hasDefault: true)"))
        #expect(text.contains("(\"tag\", String?.self)"))
    }
}
