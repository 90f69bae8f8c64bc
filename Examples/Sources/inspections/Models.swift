import Backstitch
import Foundation

/// The first version: sites, and what was found there.
enum Version1 {
    @Entity struct Site {
        var id = ID()
        @Attribute(.unique) var code: String
        var place: GeoLocation?
        @Relationship(inverse: \Inspection.site) var inspections: ToMany<Inspection>
    }

    @Entity struct Inspection {
        var id = ID()
        @Attribute(.indexed) var date: Date
        var note: String
        @Relationship(onDelete: .cascade) var site: Site.ID?
    }

    static var schema: StoreSchema { StoreSchema(Site.self, Inspection.self) }
}

/// The second version renames `note`, and tells how bad it is.
enum Version2 {
    typealias Site = Version1.Site

    enum Severity: Int, EnumAttributeValue { case fine, minor, severe }

    @Entity struct Inspection {
        var id = ID()
        @Attribute(.indexed) var date: Date
        @Attribute(originalName: "note") var remark: String
        @Attribute(.indexed) var severity: Severity = .fine
        @Relationship(onDelete: .cascade) var site: Site.ID?
    }

    static var schema: StoreSchema { StoreSchema(Site.self, Inspection.self) }
}

/// The third version has repairs.
enum Version3 {
    typealias Site = Version1.Site
    typealias Inspection = Version2.Inspection

    @Entity struct Repair {
        var id = ID()
        var done: Date
        var cost: Decimal
        @Relationship(onDelete: .cascade) var inspection: Inspection.ID
    }

    static var schema: StoreSchema { StoreSchema(Site.self, Inspection.self, Repair.self) }
}
