/// A bug that is put in on purpose, to see that the checkers find it.
package enum PlantedBug: String, Sendable, CaseIterable {
    /// The service says that it saved a record, and did not.
    case acknowledgesWithoutSaving
    /// The change feed leaves out deletions.
    case dropsDeletions
    /// The engine is told that local edits are on the service when they are not.
    case acknowledgesNewerEdits
}
