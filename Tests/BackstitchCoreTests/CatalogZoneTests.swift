import Foundation
import TestBudget
import Testing

@testable import BackstitchCore

@Suite(.budgeted) struct CatalogZoneTests {
    private var catalog = Catalog(
        storeID: UUID(uuid: (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))

    @Test mutating func `zones get slots from 2 on, and names are those of zones that are there`() {
        #expect(catalog.add(zone: "list", owner: nil, in: .private)?.number == 2)
        #expect(catalog.add(zone: "list", owner: "ada", in: .shared)?.number == 3)
        #expect(catalog.zone(named: "list", in: .private)?.number == 2)
        #expect(catalog.zone(named: "list", owner: "ada", in: .shared)?.number == 3)
        #expect(catalog.zone(named: "list", in: .shared) == nil)
        #expect(catalog.isWellFormed)
        catalog.end(zone: 2, at: 7)
        #expect(catalog.zone(2) == nil)
        #expect(catalog.zone(named: "list", in: .private) == nil)
        #expect(catalog.add(zone: "list", owner: nil, in: .private)?.number == 4)
        #expect(catalog.zones.first?.endedAt == 7)
        #expect(catalog.isWellFormed)
    }

    @Test mutating func `names are told apart by their bytes`() {
        #expect(catalog.add(zone: "caf\u{E9}", owner: nil, in: .private)?.number == 2)
        #expect(catalog.zone(named: "cafe\u{301}", in: .private) == nil)
    }

    @Test mutating func `there are 253 slots, and only that of a zone that ended is given up`() {
        for number in CatalogZone.numbers {
            #expect(catalog.add(zone: "z\(number)", owner: nil, in: .private)?.number == number)
        }
        #expect(catalog.add(zone: "more", owner: nil, in: .private) == nil)
        catalog.free(zone: 254)
        #expect(catalog.add(zone: "more", owner: nil, in: .private) == nil)
        catalog.end(zone: 254, at: 1)
        catalog.free(zone: 254)
        #expect(catalog.add(zone: "more", owner: nil, in: .private)?.number == 254)
    }

    private static let damaged: [[CatalogZone]] = [
        [CatalogZone(number: 0, name: "a", database: .private)],
        [CatalogZone(number: 255, name: "a", database: .private)],
        [CatalogZone(number: 2, name: "", database: .private)],
        [
            CatalogZone(number: 3, name: "a", database: .private),
            CatalogZone(number: 2, name: "b", database: .private),
        ],
        [
            CatalogZone(number: 2, name: "a", database: .private),
            CatalogZone(number: 2, name: "b", database: .private),
        ],
        [
            CatalogZone(number: 2, name: "a", database: .private),
            CatalogZone(number: 3, name: "a", database: .private),
        ],
    ]

    @Test(arguments: damaged)
    mutating func `slots that are reserved or given twice, and names that are there twice`(
        zones: [CatalogZone]
    ) {
        catalog.zones = zones
        #expect(!catalog.isWellFormed)
    }
}
