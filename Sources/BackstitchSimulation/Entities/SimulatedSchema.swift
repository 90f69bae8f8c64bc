import Backstitch
import Foundation

/// The versions of the application's schema.
public enum SimulatedSchema: String, Hashable, Sendable, Codable, CaseIterable {
    /// Folders and notes only, with few attributes.
    case old
    /// Everything but what has natural keys.
    case current
    /// Everything.
    case keyed
    /// Everything but what has natural keys, and records that hold files.
    case files

    var schema: StoreSchema {
        switch self {
        case .old: StoreSchema(OldFolder.self, OldNote.self)
        case .current:
            StoreSchema(
                SimulatedFolder.self, SimulatedNote.self, SimulatedTag.self, SimulatedPair.self)
        case .keyed:
            StoreSchema(
                SimulatedFolder.self, SimulatedNote.self, SimulatedTag.self, SimulatedPair.self,
                SimulatedBadge.self, SimulatedHolder.self, SimulatedSeat.self)
        case .files:
            StoreSchema(
                SimulatedFolder.self, SimulatedNote.self, SimulatedTag.self, SimulatedPair.self,
                SimulatedPhoto.self, SimulatedCaption.self)
        }
    }

    /// The kinds of records that its applications and others make.
    var kinds: [RecordPool.Kind] {
        switch self {
        case .old, .current: RecordPool.Kind.plain
        case .keyed: RecordPool.Kind.plain + [.badge, .holder, .seat]
        case .files: RecordPool.Kind.plain + [.photo, .photo, .caption]
        }
    }
}

/// A folder of the first version, which has no cover.
@Entity("SimulatedFolder") struct OldFolder {
    var id = ID()
    var name: String
    @Relationship(onDelete: .cascade) var parent: OldFolder.ID?
}

/// A note of the first version.
@Entity("SimulatedNote") struct OldNote {
    var id = ID()
    @Attribute(.indexed) var title: String
    var text: String?
    var isDone: Bool
    var rank: Int16
    var large: Int64
    var ratio: Float
    var price: Decimal
    var createdAt: Date
    @Relationship(onDelete: .cascade) var folder: OldFolder.ID?
}
