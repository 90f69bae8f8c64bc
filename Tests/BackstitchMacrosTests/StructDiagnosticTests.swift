import TestBudget
import Testing

@Suite(.budgeted) struct StructDiagnosticTests {
    @Test func `a class is told to be a struct`() {
        let expansion = Expansion("@Entity final class Note { var id = ID() }")
        #expect(
            expansion.reports == [
                "1:15 @Entity is for structs: an entity is a value. Declare a struct, not a class."
            ])
        #expect(
            expansion.fixes == [
                "replace 'class' with 'struct'": "@Entity struct Note { var id = ID() }"
            ])
        #expect(!expansion.text.contains("extension"))
    }

    @Test(arguments: ["enum", "actor"]) func `no other kind of type is an entity`(kind: String) {
        let expansion = Expansion("@Entity \(kind) Note {}")
        #expect(
            expansion.reports == [
                "1:9 @Entity is for structs: an entity is a value. Declare a struct, not an "
                    + "\(kind)."
            ])
        #expect(expansion.fixes.isEmpty)
    }

    @Test func `a generic struct is no entity`() {
        let expansion = Expansion("@Entity struct Note<Text> { var id = ID() }")
        #expect(
            expansion.reports == [
                "1:20 An entity can't be generic: a store knows it by one name. Remove the generic "
                    + "parameters."
            ])
    }

    @Test(arguments: ["\"\"", "name", "\"a\\(b)\""])
    func `the name is a literal`(argument: String) {
        let expansion = Expansion("@Entity(\(argument)) struct Note { var id = ID() }")
        #expect(
            expansion.reports == [
                "1:9 Write the entity's name as a string literal that is not empty."
            ])
    }

    @Test(arguments: ["bad name!", "1st", "größe"])
    func `the name is one that the service allows`(name: String) {
        let expansion = Expansion("@Entity(\"\(name)\") struct Note { var id = ID() }")
        #expect(
            expansion.reports == [
                "1:9 The service does not allow the name '\(name)'. Begin with a letter, and use ASCII "
                    + "letters, digits and underscores, 255 at most."
            ])
    }

    @Test func `a struct without an identity is told to add one`() {
        let expansion = Expansion(
            """
            @Entity struct Note {
                // What it says.
                var text: String
            }
            """)
        #expect(expansion.reports == ["1:16 An entity needs an identity. Add 'var id = ID()'."])
        #expect(
            expansion.fixes == [
                "add 'var id = ID()'": """
                @Entity struct Note {
                    var id = ID()
                    // What it says.
                    var text: String
                }
                """
            ])
    }

    @Test func `an empty struct is told to add an identity`() {
        let expansion = Expansion("@Entity struct Note {\n}")
        #expect(expansion.reports == ["1:16 An entity needs an identity. Add 'var id = ID()'."])
        #expect(
            expansion.fixes == [
                "add 'var id = ID()'": "@Entity struct Note {\n    var id = ID()\n}"
            ])
    }

    @Test(arguments: ["UUID", "Int", "Other.ID", "EntityID<Other>", "ID?"])
    func `an identity has the type ID`(type: String) {
        let expansion = Expansion("@Entity struct Note {\n    var id: \(type) = x()\n}")
        #expect(
            expansion.reports == [
                "2:13 The identity of an entity is stored and has the type 'ID'. Write "
                    + "'var id = ID()' or 'let id: ID'."
            ])
        #expect(
            expansion.fixes == [
                "replace '\(type)' with 'ID'": "@Entity struct Note {\n    var id: ID = x()\n}"
            ])
    }

    @Test(arguments: ["var id = UUID()", "var id: ID { ID() }", "lazy var id = 1"])
    func `an identity is stored and made by ID`(declaration: String) {
        let expansion = Expansion("@Entity struct Note {\n    \(declaration)\n}")
        #expect(expansion.reports.count == 1)
        #expect(expansion.reports.first?.contains("has the type 'ID'") == true)
    }

    @Test(arguments: [
        "var id = ID()", "let id: ID", "var id: ID", "var id: ID = ID()", "let id: Self.ID",
        "var id: Note.ID", "var id: EntityID<Note>", "var id: EntityID<Self>", "var id = Note.ID()",
        "var id = EntityID<Note>()", "var id: Backstitch.EntityID<Note> = .init()",
    ])
    func `an identity can be spelled in many ways`(declaration: String) {
        let expansion = Expansion("@Entity struct Note {\n    \(declaration)\n}")
        #expect(expansion.reports.isEmpty)
        #expect(expansion.text.contains("extension Note: Backstitch.Entity"))
    }

    @Test func `an identity that can't be read back is reported`() {
        let expansion = Expansion("@Entity struct Note {\n    let id = ID()\n}")
        #expect(
            expansion.reports == [
                "2:5 'id' can't be read back: a 'let' that has a value can't be set again. Declare "
                    + "it with 'var'."
            ])
        #expect(
            expansion.fixes == [
                "replace 'let' with 'var'": "@Entity struct Note {\n    var id = ID()\n}"
            ])
    }

    @Test func `an identity takes no marks`() {
        let expansion = Expansion(
            "@Entity struct Note {\n    @Attribute(.indexed) var id = ID()\n}")
        #expect(
            expansion.reports == [
                "2:5 The identity is always there and always found by index. Remove '@Attribute'."
            ])
        #expect(
            expansion.fixes == [
                "remove '@Attribute(.indexed)'": "@Entity struct Note {\n    var id = ID()\n}"
            ])
    }
}
