import Backstitch
import BackstitchViews

/// A record of a transaction of a writer.
@Entity struct Item {
    var id = ID()
    @Attribute(.indexed) var writer: Int
    var transaction: Int
    var revision: Int
    var text: String = ""
}

/// A view that is kept up in the writes, and one that catches up.
enum Views {
    static let items = GroupedTotals("items", of: Item.self, by: \.writer, sum: \.revision)
    static let late = GroupedTotals(
        "late", of: Item.self, by: \.writer, sum: \.transaction, mode: .catchingUp)
    static let configuration = StoreConfiguration(projections: [items, late])
}
