import BackstitchCore

/// The catalog can't number another name that the service delivers.
package struct NumbersUsedUp: Error, CustomStringConvertible {
    package var description: String {
        "The store has no numbers left for names that the service delivers "
            + "(\(Catalog.undeclaredMax)). Delete unused record types or fields there, or declare in the "
            + "schema what is needed."
    }
}
