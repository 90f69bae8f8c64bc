/// Why the demo could not be run.
package struct DemoFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
