"""Naming a view, and putting the saved ones in order."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from explorer import text
from explorer.i18n import tr
from explorer.ui.dialogs.named_list import NamedList
from explorer.ui.dialogs.sizes import resize_to_design
from explorer.ui.theme import theme
from explorer.ui.views import NAME_MOST, SavedViews


class NameDialog(QDialog):
    """Asks for the name of a view; says so where it takes the place of another."""

    def __init__(self, views: SavedViews, suggested: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("viewNameDialog")
        self.setWindowTitle(tr("Save this view"))
        self._views = views
        title = QLabel(tr("Save this view"))
        title.setProperty("textRole", "dialogTitle")
        self.said_label = QLabel()
        self.said_label.setObjectName("viewSaidLabel")
        self.said_label.setTextFormat(Qt.TextFormat.PlainText)
        self.said_label.setWordWrap(True)
        self.said_label.setProperty("tone", "text2")
        self.name_edit = QLineEdit()
        self.name_edit.setObjectName("viewNameEdit")
        self.name_edit.setAccessibleName(tr("Name of the view"))
        self.name_edit.setPlaceholderText(tr("Name"))
        self.name_edit.setMaxLength(NAME_MOST)
        self.save_button = QPushButton(tr("Save"))
        self.save_button.setProperty("kind", "primary")
        self.save_button.setDefault(True)
        cancel = QPushButton(tr("Cancel"))
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(cancel)
        buttons.addWidget(self.save_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 24, 24, 16)
        column.setSpacing(12)
        for part in (title, self.said_label, self.name_edit):
            column.addWidget(part)
        column.addLayout(buttons)
        self.setMinimumWidth(theme().scaled(420))
        self.name_edit.textChanged.connect(self._on_name_edit_text_changed)
        self.save_button.clicked.connect(self.accept)
        cancel.clicked.connect(self.reject)
        self.name_edit.setText(suggested)
        self.name_edit.selectAll()
        self._on_name_edit_text_changed()

    @property
    def name(self) -> str:
        return self.name_edit.text().strip()

    def _on_name_edit_text_changed(self) -> None:
        is_taken = self._views.get(self.name) is not None
        self.save_button.setEnabled(bool(self.name))
        self.save_button.setText(tr("Replace") if is_taken else tr("Save"))
        self.said_label.setText(
            tr("A view has this name already; the new one takes its place.")
            if is_taken
            else tr("It keeps the filter, the search, the columns, the order and the layout.")
        )


class ViewsDialog(QDialog):
    """Renames and removes views; what was removed last can be put back."""

    def __init__(self, views: SavedViews, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("viewsDialog")
        self.setWindowTitle(tr("Saved views"))
        self._views = views
        title = QLabel(tr("Saved views"))
        title.setProperty("textRole", "dialogTitle")
        self.list = NamedList()
        self.list.setObjectName("viewsList")
        self.list.setAccessibleName(tr("Saved views"))
        self.list.setProperty("surface", "card")
        self.list.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked | QAbstractItemView.EditTrigger.EditKeyPressed
        )
        self.empty_label = QLabel(tr("None is saved. Save this view is in the same menu."))
        self.empty_label.setProperty("tone", "text3")
        self.empty_label.setWordWrap(True)
        self.said_label = QLabel()
        self.said_label.setTextFormat(Qt.TextFormat.PlainText)
        self.said_label.setWordWrap(True)
        self.said_label.setProperty("tone", "caution")
        self.rename_button = QPushButton(tr("Rename"))
        self.rename_button.setObjectName("renameViewButton")
        self.remove_button = QPushButton(tr("Remove"))
        self.remove_button.setObjectName("removeViewButton")
        self.put_back_button = QPushButton()
        self.put_back_button.setObjectName("putBackViewButton")
        self.put_back_button.setProperty("kind", "link")
        self.close_button = QPushButton(tr("Close"))
        self.close_button.setDefault(True)
        for button in (self.rename_button, self.remove_button, self.put_back_button):
            button.setAutoDefault(False)
        buttons = QHBoxLayout()
        buttons.addWidget(self.rename_button)
        buttons.addWidget(self.remove_button)
        buttons.addWidget(self.put_back_button)
        buttons.addStretch(1)
        buttons.addWidget(self.close_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 24, 24, 16)
        column.setSpacing(12)
        for part in (title, self.empty_label, self.list, self.said_label):
            column.addWidget(part, 1 if part is self.list else 0)
        column.addLayout(buttons)
        resize_to_design(self, 480, 360)
        self.list.itemChanged.connect(self._on_list_item_changed)
        self.list.currentItemChanged.connect(self._show_buttons)
        self.list.remove_wanted.connect(self._remove)
        self.rename_button.clicked.connect(self._on_rename_button_clicked)
        self.remove_button.clicked.connect(self._remove)
        self.put_back_button.clicked.connect(views.put_back)
        self.close_button.clicked.connect(self.accept)
        # Queued: what changes the list may be the end of an edit inside it.
        views.changed.connect(self._show_views, Qt.ConnectionType.QueuedConnection)
        self._show_views()

    def _show_views(self) -> None:
        at = self.list.currentRow()
        self.list.blockSignals(True)
        self.list.clear()
        for view in self._views.views:
            item = QListWidgetItem(text.shown(view.name))
            item.setSizeHint(QSize(0, theme().row_height("row")))
            item.setData(Qt.ItemDataRole.UserRole, view.name)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
            self.list.addItem(item)
        self.list.blockSignals(False)
        self.list.setCurrentRow(max(0, min(at, self.list.count() - 1)))
        self.list.setVisible(self.list.count() > 0)
        self.empty_label.setVisible(self.list.count() == 0)
        self._show_buttons()

    def _show_buttons(self) -> None:
        chosen = self.list.currentItem() is not None
        self.rename_button.setEnabled(chosen)
        self.remove_button.setEnabled(chosen)
        removed = self._views.removed
        self.put_back_button.setVisible(removed is not None)
        if removed is not None:
            self.put_back_button.setText(
                text.label(tr("Put back {name}", name=text.isolate(text.shown(removed.name, 30))))
            )

    def _on_list_item_changed(self, item: QListWidgetItem) -> None:
        old = item.data(Qt.ItemDataRole.UserRole)
        new = item.text()
        if new == text.shown(old):
            return
        is_done = self._views.rename(old, new)
        self.said_label.setText("" if is_done else tr("A name must not be blank, nor that of another view."))

    def _on_rename_button_clicked(self) -> None:
        if (item := self.list.currentItem()) is not None:
            self.list.editItem(item)

    def _remove(self) -> None:
        if (item := self.list.currentItem()) is not None:
            self.said_label.clear()
            self._views.remove(item.data(Qt.ItemDataRole.UserRole))
