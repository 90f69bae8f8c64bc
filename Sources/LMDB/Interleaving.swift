import Synchronization
import Threading

/// Marked points between two steps if another thread may come in between.
///
/// Tests of races wait there for moments, so that orders happen that are rare otherwise. In a release
/// build a point is no code at all.
package enum Interleaving {
    #if DEBUG
        private struct Hook {
            var run: (@Sendable (StaticString) -> Void)?
        }

        private static let hook = Locked(Hook())
        private static let isHooked = Atomic(false)

        /// Calls a closure at every point from now on; nil ends that.
        ///
        /// The closure may be called on any thread and with any lock held: it may only pass time.
        package static func hook(_ hook: (@Sendable (StaticString) -> Void)?) {
            Self.hook.withLock { $0.run = hook }
            isHooked.store(hook != nil, ordering: .relaxed)
        }

        /// Marks a point, by a name that is for people.
        package static func point(_ name: StaticString) {
            guard isHooked.load(ordering: .relaxed) else { return }
            hook.withLock(\.run)?(name)
        }
    #else
        /// Does nothing in a release build.
        package static func hook(_ hook: (@Sendable (StaticString) -> Void)?) {}

        /// Is nothing in a release build.
        @inlinable @inline(__always)
        package static func point(_ name: StaticString) {}
    #endif
}
