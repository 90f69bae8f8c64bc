import Testing

@Suite struct ExpansionTests {
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
                            Backstitch.AttributeSchema("department", Department.ID?.self, onDelete: .cascade),
                            Backstitch.AttributeSchema("note", String.self, hasDefault: true, default: "none"),
                        ],
                        toMany: [])

                    nonisolated(unsafe) static let attributeIndexes: [PartialKeyPath<Self>: Int] = [
                        \Self.email: 0,
                        \Self.department: 1,
                        \Self.note: 2,
                    ]

                    private static func decode(
                        id: Backstitch.EntityID<Self>, fields: inout Backstitch.FieldReader
                    ) throws -> Self {
                        try Self(
                            id: id,
                            email: fields.read(String.self, at: 0),
                            department: fields.read(Department.ID?.self, at: 1),
                            note: fields.read(String.self, at: 2, default: "none"))
                    }

                    func write(to fields: inout Backstitch.FieldWriter) throws {
                        try fields.write(self.email, at: 0)
                        try fields.write(self.department, at: 1)
                        try fields.write(self.note, at: 2)
                    }
                }

                extension Employee: Backstitch.Entity {
                    init(id: Backstitch.EntityID<Self>, fields: inout Backstitch.FieldReader) throws {
                        self = try Self.decode(id: id, fields: &fields)
                    }
                }
                """#)
    }
}
