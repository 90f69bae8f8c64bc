import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@Suite(.budgeted) struct EntityMacroTests {
    /// The value that reading what `value` writes gives, by a layout of ascending field ids.
    private func roundTrip<Model: Entity>(_ value: Model, rowLacks lacking: Set<Int> = []) throws
        -> Model
    {
        let count = Model.entitySchema.attributes.count
        let written = FieldLayout(
            fields: (0..<count).map { FieldID(UInt16($0 + (lacking.contains($0) ? 1000 : 1))) })
        var writer = _FieldWriter(layout: written)
        try value.write(to: &writer)
        var row = ByteBuffer()
        writer.finish(into: &row)
        let fields = try #require(PackedFields(row.bytes))
        let layout = FieldLayout(fields: (0..<count).map { FieldID(UInt16($0 + 1)) })
        var reader = _FieldReader(fields: fields, layout: layout)
        return try Model(id: value.id, fields: &reader)
    }

    private var sample: Sample {
        get throws {
            Sample(
                string: "text", bool: true, int: -7, int16: 16, int32: 32, int64: 64, float: 1.5,
                double: 2.25, decimal: Decimal(string: "12.345") ?? 0,
                date: Date(timeIntervalSince1970: 5), data: Data([1, 2]), uuid: UUID(),
                url: try #require(URL(string: "https://example.org/a")), author: "ada",
                optionalDecimal: nil)
        }
    }

    @Test func `every type of attribute reads back`() throws {
        let sample = try sample
        let read = try roundTrip(sample)
        #expect(read.id == sample.id)
        #expect(read.string == "text" && read.bool && read.int == -7 && read.int16 == 16)
        #expect(read.int32 == 32 && read.int64 == 64 && read.float == 1.5 && read.double == 2.25)
        #expect(read.decimal == sample.decimal && read.date == sample.date)
        #expect(read.data == sample.data && read.uuid == sample.uuid && read.url == sample.url)
        #expect(read.author == "ada")
    }

    @Test func `nil reads back as nil`() throws {
        let read = try roundTrip(try sample)
        #expect(read.optionalString == nil && read.optionalBool == nil && read.optionalInt == nil)
        #expect(read.optionalInt16 == nil && read.optionalInt32 == nil)
        #expect(read.optionalInt64 == nil && read.optionalFloat == nil)
        #expect(read.optionalDouble == nil && read.optionalDecimal == nil)
        #expect(read.optionalDate == nil && read.optionalData == nil && read.optionalUUID == nil)
        #expect(read.optionalURL == nil && read.editor == nil)
    }

    @Test func `optionals with a value read back`() throws {
        var sample = try sample
        sample.optionalString = "text"
        sample.optionalBool = false
        sample.optionalInt = 1
        sample.optionalInt16 = 2
        sample.optionalInt32 = 3
        sample.optionalInt64 = 4
        sample.optionalFloat = 0.5
        sample.optionalDouble = 0.25
        sample.optionalDecimal = 7
        sample.optionalDate = Date(timeIntervalSince1970: 9)
        sample.optionalData = Data([3])
        sample.optionalUUID = sample.uuid
        sample.optionalURL = sample.url
        sample.editor = "bob"
        let read = try roundTrip(sample)
        #expect(read.optionalString == "text" && read.optionalBool == false)
        #expect(read.optionalInt == 1 && read.optionalInt16 == 2 && read.optionalInt32 == 3)
        #expect(read.optionalInt64 == 4 && read.optionalFloat == 0.5)
        #expect(read.optionalDouble == 0.25 && read.optionalDecimal == 7)
        #expect(read.optionalDate == sample.optionalDate && read.optionalData == Data([3]))
        #expect(read.optionalUUID == sample.uuid && read.optionalURL == sample.url)
        #expect(read.editor == "bob")
    }

    @Test func `the schema tells types, options and references`() throws {
        let attributes = Sample.entitySchema.attributes
        #expect(Sample.entityName == "Sample" && Sample.entitySchema.name == "Sample")
        #expect(attributes.count == 28)
        #expect(attributes[0] == AttributeSchema(name: "string", type: .string))
        #expect(attributes[8].isLossless && attributes[8].type == .decimal)
        #expect(attributes[13].reference == ReferenceSchema(target: "Person", onDelete: .deny))
        #expect(attributes[27].reference == ReferenceSchema(target: "Person", onDelete: .nullify))
        #expect(attributes[..<14].allSatisfy { !$0.isOptional })
        #expect(attributes[14...].allSatisfy { $0.isOptional })
        #expect(attributes.map(\.type)[14...] == attributes.map(\.type)[..<14][...])
        #expect(Person.entitySchema.attributes[0].isIndexed)
    }

    @Test func `attributes are found by key path`() {
        #expect(Sample.attributeIndexes.count == 28)
        #expect(Sample.attributeIndexes[\Sample.string] == 0)
        #expect(Sample.attributeIndexes[\Sample.editor] == 27)
        #expect(Sample.attributeIndexes[\Sample.id] == nil)
        #expect(Person.attributeIndexes[\Person.initials] == nil)
    }

    @Test func `relationships of two entities point at each other`() {
        #expect(Team.entitySchema.name == "Group")
        let members = Team.entitySchema.toMany.first
        #expect(members?.name == "members" && members?.target == "Person")
        #expect(members?.inverse() == "team")
        #expect(Person.entitySchema.attributes[3].reference?.target == "Group")
        #expect(Person.entitySchema.attributes[3].reference?.onDelete == .cascade)
        #expect(Person.entitySchema.toMany.first?.inverse() == "boss")
    }

    @Test func `a to-many knows its owner and leaves the memberwise initialiser alone`() {
        let team = Team(title: "Engines")
        #expect(team.members.owner == team.id.key)
        #expect(team.members.inverse == \Person.team)
    }

    @Test func `a struct with an initialiser of its own reads back its private attributes`() throws
    {
        var ada = Person(name: "Ada", team: "engines")
        #expect(try roundTrip(ada) == ada)
        ada.forgetSecret()
        #expect(try roundTrip(ada).secretForTest == nil)
        #expect(Person().name == "anonymous")
    }

    @Test func `defaults stand in where the row lacks the attribute`() throws {
        var note = Note(text: "a", count: 5, stars: 1, default: false)
        note.createdAt = Date(timeIntervalSince1970: 100)
        note.watched = 9
        #expect(note.changes == 1)
        #expect(try roundTrip(note) == note)
        let read = try roundTrip(note, rowLacks: Set(0..<8))
        #expect(read.id == note.id)
        #expect(read.text == "untitled" && read.count == -1 && read.stars == 3 && read.default)
        #expect(read.createdAt == Date(timeIntervalSince1970: 0) && read.watched == 0)
        #expect(
            Note.entitySchema.attributes.map(\.hasDefault) == [
                true, true, true, true, true, false, true, true,
            ])
    }

    @Test func `an optional reads as nil where the row lacks it, whatever its initial value`()
        throws
    {
        let note = Note(tag: nil)
        #expect(Note().tag == "new")
        #expect(try roundTrip(note).tag == nil)
    }

    @Test func `a row without an attribute that has no default can't be read`() throws {
        #expect(throws: FieldError(.missing, index: 0)) {
            try roundTrip(Team(title: "a"), rowLacks: [0])
        }
    }

    @Test func `nested entities and entities of an identity alone work`() throws {
        let shelf = Library.Shelf(id: "s")
        #expect(try roundTrip(shelf).id == "s")
        #expect(Library.Shelf.entityName == "Shelf" && Library.Shelf.attributeIndexes.isEmpty)
        let book = Library.Book(shelf: shelf.id)
        #expect(try roundTrip(book).shelf == shelf.id)
        #expect(Library.Shelf.entitySchema.toMany.first?.inverse() == "shelf")
    }

    @Test func `the entities of a schema agree with one another`() throws {
        let schema = StoreSchema(
            Sample.self, Person.self, Team.self, Note.self, Library.Shelf.self, Library.Book.self)
        #expect(schema.violations.isEmpty)
    }
}
