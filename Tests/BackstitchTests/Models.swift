public import Backstitch
public import Foundation

/// Every type of attribute, without and with a value that is nil.
@Entity struct Sample {
    var id = ID()
    var string: String
    var bool: Bool
    var int: Int
    var int16: Int16
    var int32: Int32
    var int64: Int64
    var float: Float
    var double: Double
    @Attribute(.lossless) var decimal: Decimal
    var date: Date
    var data: Data
    var uuid: UUID
    var url: URL
    @Relationship(onDelete: .deny) var author: Person.ID
    var optionalString: String?
    var optionalBool: Bool?
    var optionalInt: Int?
    var optionalInt16: Int16?
    var optionalInt32: Int32?
    var optionalInt64: Int64?
    var optionalFloat: Float?
    var optionalDouble: Double?
    var optionalDecimal: Optional<Decimal>
    var optionalDate: Date?
    var optionalData: Data?
    var optionalUUID: UUID?
    var optionalURL: URL?
    var editor: EntityID<Person>?
}

@Entity struct Person: Equatable {
    let id: ID
    @Attribute(.indexed) let name: String
    private var secret: String? = "kept"
    var boss: ID?
    @Relationship(onDelete: .cascade) var team: Team.ID?
    @Relationship(inverse: \Person.boss) var reports: ToMany<Person>

    static let anonymous = "anonymous"
    var initials: String { String(name.prefix(1)) }

    init(id: ID = ID(), name: String = Self.anonymous, team: Team.ID? = nil) {
        self.id = id
        self.name = name
        self.team = team
    }

    var secretForTest: String? { secret }
    mutating func forgetSecret() { secret = nil }
}

@Entity("Group") struct Team {
    var id = ID()
    var title: String
    @Relationship(inverse: \Person.team) var members: ToMany<Person>
}

/// A public entity with defaults.
@Entity public struct Note: Equatable {
    /// The note's identity.
    public var id = ID()
    /// What it says.
    public var text = "untitled"
    /// Two numbers, one with its type inferred.
    public var count = -1, stars: Int = 3
    /// A name that is a keyword.
    public var `default`: Bool = true
    /// When it was made.
    public var createdAt: Date = Date(timeIntervalSince1970: 0)
    /// An optional that starts with a value.
    public var tag: String? = "new"
    /// A number that is observed.
    public var watched: Int = 0 {
        didSet { changes += 1 }
    }
    private(set) var changes: Int = 0
}

/// Entities can be nested, and may have nothing but an identity.
enum Library {
    @Entity struct Shelf {
        let id: Self.ID
        @Relationship(inverse: \Library.Book.shelf) var books: ToMany<Library.Book>
    }

    @Entity struct Book {
        var id = ID()
        @Relationship(onDelete: .noAction) var shelf: Shelf.ID
    }
}
