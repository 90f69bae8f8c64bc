/// Why a hub can't go on with its data.
package struct HubFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// A message that says what happened and what to do.
    package let message: String

    package init(_ message: String) { self.message = message }

    package var description: String { message }
}
