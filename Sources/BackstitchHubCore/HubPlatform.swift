/// What a hub asks of the machine that it runs on, and can do without.
package struct HubPlatform: Sendable {
    /// Gives back the memory that a large body took.
    package var releaseMemory: @Sendable () -> Void = {}
    /// Makes the calling thread nicer than others: they come first when there are too few processors.
    package var beNicer: @Sendable (_ niceness: Int32) -> Void = { _ in }

    /// A machine of which nothing is asked.
    package init() {}
}
