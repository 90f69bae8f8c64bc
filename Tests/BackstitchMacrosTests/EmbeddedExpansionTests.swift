import TestBudget
import Testing

@Suite(.budgeted) struct EmbeddedExpansionTests {
    @Test func `an embeddable struct gets the schema and the codec of its parts`() {
        let expansion = Expansion(
            """
            @Embeddable struct Size {
                @Attribute(.indexed) var width: Double
                var height = 1.0
                var unit: Unit?
                @Attribute(.embedded) var edge: Edge
            }
            """)
        #expect(expansion.reports.isEmpty)
        #expect(
            expansion.text == #"""
                struct Size {
                    var width: Double
                    var height = 1.0
                    var unit: Unit?
                    var edge: Edge

                    static func _parts(default value: Self?) -> [Backstitch.AttributeSchema] {
                        [
                            [Backstitch.AttributeSchema("width", Double.self, options: [.indexed], hasDefault: value != nil, default: value?.width)],
                            [Backstitch.AttributeSchema("height", Double.self, hasDefault: true, default: value?.height ?? (1.0))],
                            [Backstitch.AttributeSchema("unit", Unit?.self)],
                            Backstitch.AttributeSchema._parts("edge", Edge.self, default: value?.edge),
                        ].flatMap {
                            $0
                        }
                    }

                    static var _partCount: Int {
                        3 + Backstitch.AttributeSchema._partCount(of: Edge.self)
                    }

                    static var _partIndexes: [PartialKeyPath<Self>: Int] {
                        Backstitch.AttributeSchema._indexes(
                            [
                            \Self.width: 0,
                            \Self.height: 1,
                            \Self.unit: 2,
                            ],
                            Backstitch.AttributeSchema._partIndexes(of: \Self.edge, at: 3))
                    }

                    static func _read(
                        from fields: inout Backstitch._FieldReader, at index: Int, default value: @autoclosure () -> Self?
                    ) throws -> Self {
                        try Self(width: fields.read(part: Double.self, at: index, default: value()?.width), height: fields.read(Double.self, at: index + 1, default: value()?.height ?? 1.0), unit: fields.read(Unit?.self, at: index + 2), edge: fields.read(embedded: Edge.self, at: index + 3, default: value()?.edge))
                    }

                    func _write(to fields: inout Backstitch._FieldWriter, at index: Int) throws {
                        try fields.write(self.width, at: index)
                        try fields.write(self.height, at: index + 1)
                        try fields.write(self.unit, at: index + 2)
                        try fields.write(embedded: self.edge, at: index + 3)
                    }
                }

                nonisolated extension Size: Backstitch._EmbeddableValue {
                }
                """#)
    }

    @Test func `an entity counts the parts of what is before an attribute`() {
        let text = Expansion(
            """
            @Entity struct Part {
                var id = ID()
                var title: String
                @Attribute(.embedded) var size: Size
                var weight = 0
                @Attribute(.embedded, originalName: "rim") var edge = Edge(width: 1)
                var note: String?
            }
            """
        ).text
        let count = "Backstitch.AttributeSchema._partCount(of: Size.self)"
        let counts = count + " + Backstitch.AttributeSchema._partCount(of: Edge.self)"
        for line in [
            "fields.read(embedded: Size.self, at: 1)",
            "fields.read(Int.self, at: 1 + \(count), default: 0)",
            "fields.read(embedded: Edge.self, at: 2 + \(count), default: Edge(width: 1))",
            "fields.read(String?.self, at: 2 + \(counts))",
            "try fields.write(embedded: self.size, at: 1)",
            "try fields.write(self.note, at: 2 + \(counts))",
            "\\Self.note: 2 + \(counts),",
            "Backstitch.AttributeSchema._partIndexes(of: \\Self.size, at: 1)",
            "Backstitch.AttributeSchema._parts(\"size\", Size.self),",
            "Backstitch.AttributeSchema._parts(\"edge\", Edge.self, originalName: \"rim\", "
                + "default: Edge(width: 1) as Edge),",
        ] {
            #expect(text.contains(line), "\(line)\n\(text)")
        }
    }

    @Test(arguments: [
        (
            "@Attribute(.embedded, .indexed) var size: Size",
            "'size' is stored in parts. Leave '.embedded' alone here, and write other options at "
                + "the properties of the struct."
        ),
        (
            "@Attribute(.embedded) var size: Size?",
            "An embedded struct is stored in parts, so it can't be nil. Write 'Size', and make its "
                + "parts optional."
        ),
        (
            "@Attribute(.embedded) var size: Double",
            "'Double' has no parts. Remove '.embedded', or write the type of an @Embeddable struct."
        ),
        (
            "@Attribute(.embedded) var size: [Size]",
            "'A list' has no parts. Remove '.embedded', or write the type of an @Embeddable struct."
        ),
        (
            "@Attribute(.embedded) var size: Team.ID?",
            "'ID' has no parts. Remove '.embedded', or write the type of an @Embeddable struct."
        ),
        (
            "@Attribute(.embedded) var size: Size = makeSize()",
            "Queries see the initial value of 'size' in rows that lack it, so it must be the same "
                + "each time. Write a constant, such as a call of the struct with literals."
        ),
        (
            "@Attribute(.embedded) var size = makeSize()",
            "Write the type of 'size', which is part of the schema."
        ),
        (
            "@Attribute(.embedded) @Relationship(onDelete: .deny) var size: Size",
            "'onDelete' is for references to other records. 'Size' is none: write the ID of an "
                + "entity, such as 'Department.ID?', or remove the rule."
        ),
    ])
    func `what can't be embedded is reported`(member: String, message: String) {
        let member = Member(member)
        #expect(member.reports.contains { $0.hasSuffix(message) }, "\(member.reports)")
    }

    @Test(arguments: ["Size(width: 1, height: -2.5)", "Size()", ".zero", "Size.zero"])
    func `a constant can be an initial value`(value: String) {
        #expect(Member("@Attribute(.embedded) var size: Size = \(value)").reports.isEmpty)
        guard value.hasPrefix("Size(") else { return }
        #expect(Member("@Attribute(.embedded) var size = \(value)").reports.isEmpty)
    }

    @Test(arguments: [
        (
            "class Size { var width = 1.0 }",
            "@Embeddable is for structs. Declare a struct, not a class."
        ),
        ("enum Size { case small }", "@Embeddable is for structs. Declare a struct, not an enum."),
        (
            "struct Size<T> { var width = 1.0 }",
            "An embeddable struct can't be generic, because its attributes have one type each. "
                + "Remove the generic parameters."
        ),
        (
            "struct Size { var id = 1 }",
            "An embedded struct is a part of a record and has no identity. Rename 'id'."
        ),
        (
            "struct Size { @Relationship(inverse: \\Tag.size) var tags: ToMany<Tag> }",
            "A to-many relationship belongs to a record. Declare it in the entity."
        ),
        (
            "struct Size { var width: UInt8 }",
            "'UInt8' can't be stored."
        ),
    ])
    func `what can't be embeddable is reported`(declaration: String, message: String) {
        let reports = Expansion("@Embeddable " + declaration).reports
        #expect(reports.count == 1 && reports[0].contains(message), "\(reports)")
    }
}
