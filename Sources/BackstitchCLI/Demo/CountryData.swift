import Backstitch

/// The records of ``CountryList``.
enum CountryData {
    static let schema = Schema(Country.self, Subdivision.self)

    static var data: DemoData<Subdivision> {
        var data = DemoData<Subdivision>(title: "subdivisions of countries", schema: schema)
        data.others = rows(CountryList.countries, columns: 4).map { row in
            Country(
                id: Country.ID("country:" + row[0]), name: row[3], alpha3: row[1], number: row[2])
        }
        data.records = rows(CountryList.subdivisions, columns: 3).map { row in
            Subdivision(
                id: Subdivision.ID(row[0]), name: row[2], kind: row[1],
                country: Country.ID("country:" + row[0].prefix(2)))
        }.sorted { $0.id < $1.id }
        return data
    }

    private static func rows(_ text: String, columns: Int) -> [[String]] {
        text.split(separator: "\n").map { line in
            let cells = line.split(separator: " | ").map(String.init)
            precondition(cells.count == columns, "A line of the list of countries is wrong.")
            return cells
        }
    }
}
