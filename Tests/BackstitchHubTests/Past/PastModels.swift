import Backstitch
import BackstitchViews
import Foundation

// The schemas of an application whose store and hub are kept: its first version, its second, which
// renames, widens and indexes, and that of another device, which is ahead of both.

@Entity("Folder") struct FirstFolder: Equatable {
    var id = ID()
    var name: String
}

@Entity("Note") struct FirstNote: Equatable {
    var id = ID()
    var title: String
    var rank: Int16
    var weight: Float?
    @Relationship(onDelete: .cascade) var folder: FirstFolder.ID?
}

@Entity("Folder") struct SecondFolder: Equatable {
    var id = ID()
    var name: String
    @Attribute(.unique) var code: String?
    @Relationship(inverse: \SecondNote.folder) var notes: ToMany<SecondNote>
}

@Entity("Note") struct SecondNote: Equatable {
    var id = ID()
    @Attribute(originalName: "title") var headline: String
    @Attribute(.indexed) var rank: Int = 0
    var weight: Double?
    @Relationship(onDelete: .cascade) var folder: SecondFolder.ID?
    var body: Data?
    var place: GeoLocation?
    var tags: [String] = []
    @Attribute(.lossless) var price: Decimal?
    var day: Date?
    var link: URL?
    var token: UUID?
    var done: Bool = false
    @Attribute(.localOnly) var secret: String?
}

/// A record that must not lose the one that it refers to.
@Entity("Gate") struct SecondGate: Equatable {
    var id = ID()
    @Relationship(onDelete: .deny) var target: SecondGate.ID?
}

@Entity("Note") struct AheadNote: Equatable {
    var id = ID()
    @Attribute(originalName: "title") var headline: String
    var rank: Int = 0
    var weight: Double?
    @Relationship(onDelete: .cascade) var folder: SecondFolder.ID?
    var mood: String?
    var moods: [Int] = []
}

@Entity("Sticker") struct AheadSticker: Equatable {
    var id = ID()
    var picture: Data
    var place: GeoLocation?
}

/// What the stores of the kept application are opened with.
enum PastApp {
    static let zone = "Past"
    static let first = StoreSchema(FirstFolder.self, FirstNote.self)
    static let second = StoreSchema(SecondFolder.self, SecondNote.self, SecondGate.self)
    static let ahead = StoreSchema(
        SecondFolder.self, AheadNote.self, AheadSticker.self, SecondGate.self)

    static let totals = GroupedTotals(
        "rank-by-folder", of: SecondNote.self, by: \.folder, sum: \.rank)
    static let search = TextIndex(
        "search", TextSource(SecondNote.self, \.headline), mode: .catchingUp)
    static let projections: [any RecordProjection] = [totals, search]
}
