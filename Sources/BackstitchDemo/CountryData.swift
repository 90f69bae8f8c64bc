import Backstitch

/// Countries and their parts, for machines that have no package index.
///
/// The codes and names are those of ISO 3166-1 (`countries.txt`: alpha-2, alpha-3, number, name) and
/// ISO 3166-2 (`subdivisions.txt`: code, kind, name), a record a line.
enum CountryData {
    static let schema = StoreSchema(Country.self, Subdivision.self)

    static var data: DemoData<Subdivision> {
        var data = DemoData<Subdivision>(title: "subdivisions of countries", schema: schema)
        data.others = rows(PackageResources.countries_txt, columns: 4).map { row in
            Country(
                id: Country.ID("country:" + row[0]), name: row[3], alpha3: row[1], number: row[2])
        }
        data.records = rows(PackageResources.subdivisions_txt, columns: 3).map { row in
            Subdivision(
                id: Subdivision.ID(row[0]), name: row[2], kind: row[1],
                country: Country.ID("country:" + row[0].prefix(2)))
        }.sorted { $0.id < $1.id }
        return data
    }

    private static func rows(_ text: [UInt8], columns: Int) -> [[String]] {
        String(decoding: text, as: UTF8.self).split(separator: "\n").map { line in
            let cells = line.split(separator: " | ").map(String.init)
            precondition(cells.count == columns, "A line of the list of countries is wrong.")
            return cells
        }
    }
}
