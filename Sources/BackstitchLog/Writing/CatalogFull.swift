import BackstitchCore

/// The catalog can't number another record type that the service delivers.
package struct CatalogFull: Error, CustomStringConvertible {
    package var description: String {
        "The store has no numbers left for record types that the service delivers "
            + "(\(Catalog.undeclaredMax)). Delete unused record types there, or declare in the schema "
            + "what is needed."
    }
}
