import Foundation

@testable import BackstitchCore

/// An entity with attributes of every type, written as the macro would write it.
struct Sample: Entity, Hashable {
    var id: EntityID<Sample>
    var name = ""
    var nick: String?
    var age = 0
    var grade: Int16?
    var size: Int32 = 0
    var score = 0.0
    var ratio: Float?
    var price = Decimal(0)
    var bonus: Decimal?
    var born = Date(timeIntervalSince1970: 0)
    var seen: Date?
    var isOn = false
    var flag: Bool?
    var blob: Data?
    var token = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
    var link: URL?
    var boss: EntityID<Sample>?
    var level = 7
    var labels: [String] = []
    var nums: [Int] = []
    var shorts: [Int16]?
    var words: [Int32] = []
    var marks: [Bool] = []
    var ratios: [Float] = []
    var scores: [Double] = []
    var prices: [Decimal] = []
    var days: [Date] = []
    var blobs: [Data] = []
    var tokens: [UUID] = []
    var links: [URL] = []
    var spots: [GeoLocation] = []
    var place: GeoLocation?
    var home = GeoLocation(latitude: 0, longitude: 0)

    /// The records whose boss it is.
    var team: ToMany<Sample> { ToMany(owner: id, inverse: \Sample.boss) }

    /// Not stored.
    var initial: String { String(name.prefix(1)) }

    static let entityName = "Sample"

    static let entitySchema = EntitySchema(
        name: "Sample",
        attributes: [
            AttributeSchema("name", String.self, options: [.indexed]),
            AttributeSchema("nick", String?.self, options: [.indexed]),
            AttributeSchema("age", Int.self, options: [.indexed]),
            AttributeSchema("grade", Int16?.self, options: [.indexed]),
            AttributeSchema("size", Int32.self),
            AttributeSchema("score", Double.self, options: [.indexed]),
            AttributeSchema("ratio", Float?.self, options: [.indexed]),
            AttributeSchema("price", Decimal.self, options: [.indexed]),
            AttributeSchema("bonus", Decimal?.self),
            AttributeSchema("born", Date.self, options: [.indexed]),
            AttributeSchema("seen", Date?.self, options: [.indexed]),
            AttributeSchema("isOn", Bool.self, options: [.indexed]),
            AttributeSchema("flag", Bool?.self),
            AttributeSchema("blob", Data?.self, options: [.indexed]),
            AttributeSchema("token", UUID.self, options: [.indexed]),
            AttributeSchema("link", URL?.self, options: [.indexed]),
            AttributeSchema("boss", EntityID<Sample>?.self),
            AttributeSchema("level", Int.self, options: [.indexed], hasDefault: true, default: 7),
            AttributeSchema("labels", [String].self),
            AttributeSchema("nums", [Int].self),
            AttributeSchema("shorts", [Int16]?.self),
            AttributeSchema("words", [Int32].self),
            AttributeSchema("marks", [Bool].self),
            AttributeSchema("ratios", [Float].self),
            AttributeSchema("scores", [Double].self),
            AttributeSchema("prices", [Decimal].self),
            AttributeSchema("days", [Date].self),
            AttributeSchema("blobs", [Data].self),
            AttributeSchema("tokens", [UUID].self),
            AttributeSchema("links", [URL].self),
            AttributeSchema("spots", [GeoLocation].self),
            AttributeSchema("place", GeoLocation?.self),
            AttributeSchema("home", GeoLocation.self),
        ],
        toMany: [_ToManySchema("team", at: \Sample.team, inverse: \Sample.boss)])

    static var attributeIndexes: [PartialKeyPath<Sample>: Int] {
        [
            \.name: 0, \.nick: 1, \.age: 2, \.grade: 3, \.size: 4, \.score: 5, \.ratio: 6,
            \.price: 7, \.bonus: 8, \.born: 9, \.seen: 10, \.isOn: 11, \.flag: 12, \.blob: 13,
            \.token: 14, \.link: 15, \.boss: 16, \.level: 17, \.labels: 18, \.nums: 19,
            \.shorts: 20, \.words: 21, \.marks: 22, \.ratios: 23, \.scores: 24, \.prices: 25,
            \.days: 26, \.blobs: 27, \.tokens: 28, \.links: 29, \.spots: 30, \.place: 31,
            \.home: 32,
        ]
    }

    init(id: EntityID<Sample>) {
        self.id = id
    }

    init(id: EntityID<Sample>, fields: inout _FieldReader) throws {
        self.id = id
        name = try fields.read(String.self, at: 0)
        nick = try fields.read(String?.self, at: 1)
        age = try fields.read(Int.self, at: 2)
        grade = try fields.read(Int16?.self, at: 3)
        size = try fields.read(Int32.self, at: 4)
        score = try fields.read(Double.self, at: 5)
        ratio = try fields.read(Float?.self, at: 6)
        price = try fields.read(Decimal.self, at: 7)
        bonus = try fields.read(Decimal?.self, at: 8)
        born = try fields.read(Date.self, at: 9)
        seen = try fields.read(Date?.self, at: 10)
        isOn = try fields.read(Bool.self, at: 11)
        flag = try fields.read(Bool?.self, at: 12)
        blob = try fields.read(Data?.self, at: 13)
        token = try fields.read(UUID.self, at: 14)
        link = try fields.read(URL?.self, at: 15)
        boss = try fields.read(EntityID<Sample>?.self, at: 16)
        level = try fields.read(Int.self, at: 17, default: 7)
        labels = try fields.read([String].self, at: 18)
        nums = try fields.read([Int].self, at: 19)
        shorts = try fields.read([Int16]?.self, at: 20)
        words = try fields.read([Int32].self, at: 21)
        marks = try fields.read([Bool].self, at: 22)
        ratios = try fields.read([Float].self, at: 23)
        scores = try fields.read([Double].self, at: 24)
        prices = try fields.read([Decimal].self, at: 25)
        days = try fields.read([Date].self, at: 26)
        blobs = try fields.read([Data].self, at: 27)
        tokens = try fields.read([UUID].self, at: 28)
        links = try fields.read([URL].self, at: 29)
        spots = try fields.read([GeoLocation].self, at: 30)
        place = try fields.read(GeoLocation?.self, at: 31)
        home = try fields.read(GeoLocation.self, at: 32)
    }

    /// Leaves out a level that is the default, and some empty lists, as rows do that are older than
    /// the attribute.
    func write(to fields: inout _FieldWriter) throws {
        try fields.write(name, at: 0)
        try fields.write(nick, at: 1)
        try fields.write(age, at: 2)
        try fields.write(grade, at: 3)
        try fields.write(size, at: 4)
        try fields.write(score, at: 5)
        try fields.write(ratio, at: 6)
        try fields.write(price, at: 7)
        try fields.write(bonus, at: 8)
        try fields.write(born, at: 9)
        try fields.write(seen, at: 10)
        try fields.write(isOn, at: 11)
        try fields.write(flag, at: 12)
        try fields.write(blob, at: 13)
        try fields.write(token, at: 14)
        try fields.write(link, at: 15)
        try fields.write(boss, at: 16)
        if level != 7 { try fields.write(level, at: 17) }
        if isOn || !labels.isEmpty { try fields.write(labels, at: 18) }
        if isOn || !nums.isEmpty { try fields.write(nums, at: 19) }
        try fields.write(shorts, at: 20)
        if isOn || !words.isEmpty { try fields.write(words, at: 21) }
        if isOn || !marks.isEmpty { try fields.write(marks, at: 22) }
        if isOn || !ratios.isEmpty { try fields.write(ratios, at: 23) }
        if isOn || !scores.isEmpty { try fields.write(scores, at: 24) }
        if isOn || !prices.isEmpty { try fields.write(prices, at: 25) }
        if isOn || !days.isEmpty { try fields.write(days, at: 26) }
        if isOn || !blobs.isEmpty { try fields.write(blobs, at: 27) }
        if isOn || !tokens.isEmpty { try fields.write(tokens, at: 28) }
        if isOn || !links.isEmpty { try fields.write(links, at: 29) }
        if isOn || !spots.isEmpty { try fields.write(spots, at: 30) }
        try fields.write(place, at: 31)
        try fields.write(home, at: 32)
    }

    static let layout = FieldLayout(
        fields: (1...33).map { FieldID(UInt16($0)) })

    /// What a store would know of the entity, with the indexes of the schema or without any.
    static func binding(
        isIndexed: Bool = true, compounds: [[String]] = []
    ) -> EntityBinding {
        let attributes = entitySchema.attributes.enumerated().map { index, attribute in
            AttributeBinding(
                name: attribute.name, field: layout.fields[index], type: attribute.type,
                defaultValue: attribute.defaultValue ?? .null,
                isIndexed: isIndexed && attribute.isIndexed,
                hasInverse: isIndexed && attribute.type == .reference,
                target: attribute.reference?.target)
        }
        let plain = EntityBinding(
            name: entityName, number: EntityNumber(1), attributes: attributes)
        var binding = EntityBinding(
            name: entityName, number: EntityNumber(1), attributes: attributes,
            indexes: compounds.enumerated().map { number, names in
                IndexBinding(
                    number: UInt16(number + 1),
                    parts: names.compactMap { try? plain.attribute(named: $0) })
            })
        binding.entities = SampleEntities(isIndexed: isIndexed)
        return binding
    }
}

/// Samples, as samples refer to them.
private struct SampleEntities: EntityBindings {
    let isIndexed: Bool

    func binding(named name: String) -> EntityBinding? {
        name == Sample.entityName ? Sample.binding(isIndexed: isIndexed) : nil
    }
}
