import Backstitch
import Foundation

enum FormatStatus: String, EnumAttributeValue { case open, closed }

struct FormatSettings: Codable, Equatable, Sendable {
    var theme: String
    var sizes: [String: Int]
}

@Entity("FormatOwner") struct FormatOwner: Equatable {
    var id = ID()
    @Attribute(.unique) var email: String?
    @Relationship(inverse: \FormatThing.owner) var things: ToMany<FormatThing>
}

/// Every type and option of attributes.
@Entity("FormatThing") struct FormatThing: Equatable {
    var id = ID()
    @Attribute(.indexed) var string: String = ""
    @Attribute(.indexed) var bool: Bool = false
    var int: Int = 0
    var int16: Int16 = 0
    var int32: Int32?
    @Attribute(.indexed) var int64: Int64 = -1
    var float: Float = 0
    @Attribute(.indexed) var double: Double = 0
    @Attribute(.indexed, .lossless) var decimal: Decimal = 0
    @Attribute(.indexed) var date: Date?
    var data: Data?
    @Attribute(.indexed) var uuid: UUID?
    @Attribute(.indexed) var url: URL?
    var location: GeoLocation?
    @Attribute(.indexed) var status: FormatStatus = .open
    var strings: [String] = []
    var bools: [Bool] = []
    var integers: [Int64] = []
    var doubles: [Double] = []
    var decimals: [Decimal] = []
    var dates: [Date] = []
    var blobs: [Data] = []
    var uuids: [UUID] = []
    var urls: [URL] = []
    var locations: [GeoLocation] = []
    var statuses: [FormatStatus]?
    @Attribute(.codable) var settings: FormatSettings?
    @Attribute(.localOnly) var scroll: Int = 0
    @Attribute(originalName: "caption") var title: String?
    @Relationship(onDelete: .cascade) var owner: FormatOwner.ID?
}

extension StoreSchema {
    static let format = StoreSchema(FormatOwner.self, FormatThing.self)
}

extension FormatThing {
    /// A record with a value of every attribute.
    static func full() throws -> FormatThing {
        struct Missing: Error {}
        guard let uuid = UUID(uuidString: "0197A1B2-C3D4-7E5F-8A6B-9C0D1E2F3A4B"),
            let url = URL(string: "https://example.org/a?b=c"),
            let decimal = Decimal(string: "-12345678901234567890.125")
        else { throw Missing() }
        let date = Date(timeIntervalSince1970: 1_700_000_000.125)
        let place = GeoLocation(latitude: 52.5, longitude: -13.25)
        return FormatThing(
            id: "full", string: "é🧵\0", bool: true, int: .min, int16: .max, int32: -5,
            int64: .max, float: 1.5, double: -0.25, decimal: decimal, date: date,
            data: Data([0, 255]), uuid: uuid, url: url, location: place, status: .closed,
            strings: ["a", ""], bools: [true, false], integers: [.min, 0], doubles: [1e300],
            decimals: [decimal], dates: [date], blobs: [Data([1])], uuids: [uuid], urls: [url],
            locations: [place], statuses: [.open, .closed],
            settings: FormatSettings(theme: "dark", sizes: ["a": 1, "b": 2]), scroll: 42,
            title: "Title", owner: "o1")
    }
}
