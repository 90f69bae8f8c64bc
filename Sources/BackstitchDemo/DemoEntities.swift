import Backstitch
import Foundation

/// A record that the story edits: what both devices may change in it.
protocol DemoRecord: Entity {
    /// What it is, in words.
    var text: String { get set }
    /// Its place in some order.
    var rank: String { get set }
    /// When it was last reviewed.
    var reviewedAt: Date? { get set }
}

/// A binary package of the Debian package index.
@Entity struct Package {
    var id = ID()
    @Attribute(.indexed) var name: String
    var version: String
    var architecture: String
    var summary: String
    var priority: String
    var source: String?
    var homepage: String?
    var depends: String?
    var bytes: Int?
    var installedKilobytes: Int?
    var reviewedAt: Date?
    var section: Section.ID?
    var maintainer: Maintainer.ID?
}

/// Who looks after packages.
@Entity struct Maintainer {
    var id = ID()
    var name: String
    var email: String
    @Relationship(inverse: \Package.maintainer) var packages: ToMany<Package>
}

/// A group of packages.
@Entity struct Section {
    var id = ID()
    var name: String
    @Relationship(inverse: \Package.section) var packages: ToMany<Package>
}

/// A country of ISO 3166-1.
@Entity struct Country {
    var id = ID()
    @Attribute(.indexed) var name: String
    var alpha3: String
    var number: String
    @Relationship(inverse: \Subdivision.country) var subdivisions: ToMany<Subdivision>
}

/// A part of a country, of ISO 3166-2.
@Entity struct Subdivision {
    var id = ID()
    @Attribute(.indexed) var name: String
    var kind: String
    var reviewedAt: Date?
    var country: Country.ID?
}

extension Package: DemoRecord {
    var text: String {
        get { summary }
        set { summary = newValue }
    }
    var rank: String {
        get { priority }
        set { priority = newValue }
    }
}

extension Subdivision: DemoRecord {
    var text: String {
        get { name }
        set { name = newValue }
    }
    var rank: String {
        get { kind }
        set { kind = newValue }
    }
}
