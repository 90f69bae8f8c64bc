public import BackstitchCore

/// A view of your own that follows from the log: an ordered map of keys and values that each
/// operation on a record changes, and that the store keeps beside its tables.
///
/// ```swift
/// struct NamesInUse: RecordProjection {
///     let name = "names-in-use"
///     let entities: ProjectedEntities = .of(Employee.self)
///
///     func apply(_ change: borrowing ProjectedChange, to view: borrowing ViewEditor) throws {
///         if let old = try change.before(Employee.self) {
///             try view.add(-1, to: ViewKey(.string(old.name)))
///         }
///         if let new = try change.after(Employee.self) {
///             try view.add(1, to: ViewKey(.string(new.name)))
///         }
///     }
/// }
/// ```
///
/// Name it in ``StoreConfiguration/projections``. The store builds it from the log in the
/// background and keeps it up to date; read it with `ReadTransaction.view(of:)`.
///
/// **The same log must give the same bytes.** `apply` may use the change, the view and constants:
/// no clock, no random numbers, no other state, no network. It runs inside a write, and other
/// writers wait for it; if a read finds that the view lacks operations, it runs on the reader's
/// thread. It may run again for the same change after its writes were rolled back.
/// ``Store/verify(progress:)`` applies the log again and compares.
///
/// **Records, not operations.** If the log was compacted, a rebuilt view begins with baselines:
/// each record as it was at some moment, as one insert, and nothing for deleted records. So let a
/// view depend on the records' values. A view that counts operations sets ``needsWholeLog``;
/// building it from a compacted log then fails.
public protocol RecordProjection: Sendable {
    /// What the view is called in the store, in 1 to 200 bytes.
    var name: String { get }
    /// The version of what `apply` does, from 0 to 2^32 - 1. Another one than the stored view has
    /// makes the store build the view anew: change it with `apply`. After a change of the schema that
    /// concerns how records of its entities are read, the store builds it anew by itself.
    var version: Int { get }
    /// The entities whose changes it gets; other operations cost it nothing.
    var entities: ProjectedEntities { get }
    /// Whether the view is updated within each write, or catches up afterwards.
    var mode: ProjectionMode { get }
    /// Whether it can't be built from baselines.
    var needsWholeLog: Bool { get }

    /// Takes one change of one record into the view.
    ///
    /// An error leaves the view as it was before the change, and stops it there: reads of it throw
    /// `projectionFailed`, while the records are saved as ever. It is tried again when the store is
    /// opened, by ``Store/prepareProjections(progress:)``, and anew with another version.
    func apply(_ change: borrowing ProjectedChange, to view: borrowing ViewEditor) throws
}

extension RecordProjection {
    /// 0.
    public var version: Int { 0 }
    /// `inline`.
    public var mode: ProjectionMode { .inline }
    /// False.
    public var needsWholeLog: Bool { false }
}

/// When a view follows a write.
public enum ProjectionMode: String, Hashable, Sendable, CaseIterable {
    /// In the transaction of the write: what reads the records sees the view of the same moment. Every
    /// write pays for it.
    case inline
    /// Soon after, in commits of its own: a read tells how far the view is. Writes don't pay for it.
    case catchingUp
}

/// The entities whose changes a projection gets.
public struct ProjectedEntities: Hashable, Sendable {
    /// The names; nil stands for all.
    let names: Set<String>?

    private init(names: Set<String>?) { self.names = names }

    /// All entities, those included that only the service knows.
    public static let all = ProjectedEntities(names: nil)

    /// The entities of Swift types.
    public static func of(_ types: any Entity.Type...) -> ProjectedEntities {
        ProjectedEntities(names: Set(types.map { $0.entityName }))
    }

    /// The entities of these names.
    public static func named(_ names: String...) -> ProjectedEntities {
        ProjectedEntities(names: Set(names))
    }

    /// The entities of these names.
    public static func named(_ names: Set<String>) -> ProjectedEntities {
        ProjectedEntities(names: names)
    }
}
