import Backstitch
import Foundation

/// A tree of folders: a reference to its own type that cascades, and one that is cleared.
@Entity struct SimulatedFolder {
    var id = ID()
    var name: String
    @Relationship(onDelete: .cascade) var parent: SimulatedFolder.ID?
    var cover: SimulatedNote.ID?
}

/// Every type of attribute.
@Entity struct SimulatedNote {
    var id = ID()
    @Attribute(.indexed) var title: String
    var text: String?
    var isDone: Bool
    var isRead: Bool?
    @Attribute(.indexed) var rank: Int16
    var small: Int32?
    var large: Int64
    var plain: Int?
    var ratio: Float
    var share: Float?
    var weight: Double?
    var price: Decimal
    @Attribute(.lossless) var exact: Decimal?
    var createdAt: Date
    @Attribute(.indexed) var dueAt: Date?
    var payload: Data?
    var token: UUID?
    var link: URL?
    @Relationship(onDelete: .cascade) var folder: SimulatedFolder.ID?
}

/// References that forbid the delete of their target, and that let it dangle.
@Entity struct SimulatedTag {
    var id = ID()
    var label: String
    @Relationship(onDelete: .deny) var note: SimulatedNote.ID?
    @Relationship(onDelete: .noAction) var other: SimulatedTag.ID?
}

/// Records that need each other: circles of references that have to exist.
@Entity struct SimulatedPair {
    var id = ID()
    var label: String
    @Relationship(onDelete: .deny) var partner: SimulatedPair.ID?
}

/// A natural key, by which records that two devices made become one.
@Entity struct SimulatedBadge {
    var id = ID()
    @Attribute(.unique) var code: String
    var color: String?
    var rank: Int?
    @Relationship(onDelete: .nullify) var next: SimulatedBadge.ID?
}

/// What ends with its badge, and follows it if the badge becomes one with another.
@Entity struct SimulatedHolder {
    var id = ID()
    var label: String
    @Relationship(onDelete: .cascade) var badge: SimulatedBadge.ID?
}

/// One record for each badge.
@Entity struct SimulatedSeat {
    var id = ID()
    @Attribute(.unique) @Relationship(onDelete: .nullify) var badge: SimulatedBadge.ID?
    var label: String?
}

/// What holds files.
@Entity struct SimulatedPhoto {
    var id = ID()
    var title: String
    var image: Asset?
    @Attribute(.afterwards) var pages: [Asset] = []
    @Relationship(onDelete: .cascade) var folder: SimulatedFolder.ID?
}

/// What needs a record with files.
@Entity struct SimulatedCaption {
    var id = ID()
    var text: String
    @Relationship(onDelete: .deny) var photo: SimulatedPhoto.ID?
}
