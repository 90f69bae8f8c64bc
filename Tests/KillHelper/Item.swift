import Backstitch

/// A record of a transaction of a writer.
@Entity struct Item {
    var id = ID()
    @Attribute(.indexed) var writer: Int
    var transaction: Int
    var revision: Int
}
