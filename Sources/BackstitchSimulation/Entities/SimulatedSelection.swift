import Backstitch
import Foundation

/// What a device exchanges while a simulation goes on; in the end it is everything.
public enum SimulatedSelection: String, Hashable, Sendable, Codable, CaseIterable {
    /// Everything.
    case all
    /// Folders and notes.
    case someEntities
    /// Everything, but of notes only those that are not done.
    case someNotes

    /// The selection for a version of the schema.
    func selection(of schema: SimulatedSchema) throws -> SyncConfiguration.Selection {
        switch (self, schema) {
        case (.all, _): return .all
        case (.someEntities, .current), (.someEntities, .keyed), (.someEntities, .files):
            return SyncConfiguration.Selection(SimulatedFolder.self, SimulatedNote.self)
        case (.someEntities, .old): return SyncConfiguration.Selection(OldFolder.self, OldNote.self)
        case (.someNotes, .current), (.someNotes, .keyed), (.someNotes, .files):
            return try SyncConfiguration.Selection.all.pushing(
                #Predicate<SimulatedNote> { !$0.isDone })
        case (.someNotes, .old):
            return try SyncConfiguration.Selection.all.pushing(#Predicate<OldNote> { !$0.isDone })
        }
    }
}
