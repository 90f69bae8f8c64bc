import Backstitch

/// One entity in two versions of an app: the second has an index, a default and another name for an
/// attribute.
enum FirstVersion {
    @Entity("Item") struct Item: Equatable {
        var id = ID()
        var name: String
        var value: Int
        @Attribute(.indexed) var group: String
    }

    static let schema = Schema(Item.self)
}

enum SecondVersion {
    @Entity("Item") struct Item: Equatable {
        var id = ID()
        @Attribute(.indexed) var name: String
        @Attribute(.indexed, originalName: "value") var count: Int
        var group: String
        var added = "default"
    }

    static let schema = Schema(Item.self)
}
